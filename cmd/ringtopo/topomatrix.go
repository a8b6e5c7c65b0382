package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ringtopo/ringtopo/graph"
	"github.com/ringtopo/ringtopo/internal/job"
)

const smiLegend = `
X = itself   NV# = # NVLinks   PIX = one PCI switch   PXB = several PCI switches
PHB = a CPU   NODE = host bridges of one NUMA domain   SYS = NUMA domains
`

func writeSMIMatrix(w io.Writer, b job.Box) error {
	words, err := b.Words()
	if err != nil {
		return err
	}
	gpus, nets := byRank(b.Graph), byDev(b.Graph)
	fmt.Fprintln(w, "In nvidia-smi's words:")
	tw := matrixWriter(w, gpus, nets)
	for i := range gpus {
		fmt.Fprintf(tw, "GPU%d", i)
		for _, cell := range words.GPU[i] {
			fmt.Fprintf(tw, "\t%s", cell)
		}
		for _, cell := range words.NIC[i] {
			fmt.Fprintf(tw, "\t%s", cell)
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = io.WriteString(w, smiLegend+nicLegend(nets))
	return err
}

const ncclLegend = `
LOC = itself   NVL = NVLink   NVB = NVLink through a GPU   PIX = one PCI switch
PXB = several PCI switches   PXN = network through another GPU   PHB = a CPU
SYS = several CPUs   NET = network only   DIS = not joined
`

func writeNCCLMatrix(w io.Writer, b job.Box) error {
	gpus, nets := byRank(b.Graph), byDev(b.Graph)
	fmt.Fprintln(w, "In NCCL's words, with GB/s:")
	tw := matrixWriter(w, gpus, nets)
	for i, from := range gpus {
		fmt.Fprintf(tw, "GPU%d", i)
		for _, to := range append(gpus[:len(gpus):len(gpus)], nets...) {
			p, _ := b.Graph.Path(from, to)
			if from == to {
				fmt.Fprintf(tw, "\t%s", p.Type)
				continue
			}
			fmt.Fprintf(tw, "\t%s %.1f", p.Type, p.BW)
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, ncclLegend)
	return err
}

// matrixWriter starts a matrix with its header.
func matrixWriter(w io.Writer, gpus, nets []*graph.Node) *tabwriter.Writer {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range gpus {
		fmt.Fprintf(tw, "\tGPU%d", i)
	}
	for i := range nets {
		fmt.Fprintf(tw, "\tNIC%d", i)
	}
	fmt.Fprintln(tw)
	return tw
}

func nicLegend(nets []*graph.Node) string {
	text := ""
	for i, n := range nets {
		text += fmt.Sprintf("NIC%d = %s, %g GB/s\n", i, plainName(n), n.Net.BW)
	}
	return text
}

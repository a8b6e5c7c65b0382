package smi

import (
	"regexp"
	"sync"
)

// pattern is compiled when it is first used, so that programs which read no
// matrix do not pay for it when they start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// reason is a text that people give in place of a matrix.
type reason struct {
	sign        func() *regexp.Regexp
	msg, remedy string
}

const onMachine = "run nvidia-smi topo -m on the machine and give its output"

var reasons = []reason{
	{pattern(`\bNCCL (?:INFO|WARN|TRACE) |^NCCL version \d`),
		"this is a log of NCCL, not a topology",
		"give the file that NCCL_TOPO_DUMP_FILE names, or " + onMachine},
	{pattern(`Failed to run topology matrix`),
		"nvidia-smi failed to make the matrix: it saw no PCI devices in /sys/bus/pci/devices",
		"run it outside of the sandbox or container, or give a topology file"},
	{pattern(`Option -m is missing its value|topo.{0,40}not supported|not supported.{0,40}topo|Invalid combination of input arguments`),
		"this nvidia-smi knows no topo -m (on Windows only newer drivers do)",
		"update the driver, or give a topology file or a built-in machine"},
	{pattern(`-i command line argument must be used`),
		"nvidia-smi refused its arguments: -i does not go with topo -m", "run nvidia-smi topo -m without -i"},
	{pattern(`couldn't communicate with the NVIDIA driver|NVIDIA-SMI has failed|Driver/library version mismatch`),
		"nvidia-smi could not reach the driver", "load the driver, then " + onMachine},
	{pattern(`No devices were found`), "nvidia-smi found no GPU", onMachine},
	{pattern(`nvidia-smi: (?:command )?not found|command not found|is not recognized as`),
		"the shell did not find nvidia-smi", onMachine},
	{pattern(`Link \d+: (?:<inactive>|[\d.]+ GB/s|Remote Device)|Nvlink queries are not supported|all links are inActive|does not have or support Nvlink`),
		"this is the output of nvidia-smi nvlink, which lists links but not where they lead", onMachine},
	{pattern(`NVIDIA-SMI \d+.*Driver Version`), "this is nvidia-smi's overview, not its topology matrix", onMachine},
	{pattern(`P2P=Enabled Latency|Unidirectional P2P|P2P Connectivity Matrix`),
		"this is a table of measured bandwidth, not of distances", onMachine},
}

// noTable says why a text without any header is refused.
func noTable(lines []line, name string) error {
	if err := known(lines, name); err != nil {
		return err
	}
	for _, l := range lines {
		if looksLikeRow(l) {
			return &Error{File: name, Line: l.number, Msg: "rows without a header", Err: ErrTruncated,
				Remedy: "copy the line above them, too: it names the columns GPU0, GPU1 and so on"}
		}
	}
	return &Error{File: name, Msg: "no matrix in it: no line names the columns GPU0, GPU1 and so on",
		Remedy: "give the output of nvidia-smi topo -m, topology XML, or a built-in machine", Err: ErrNoMatrix}
}

// noRows says why a header alone is refused.
func (t *table) noRows(name string) error {
	if err := known(t.after, name); err != nil {
		return err
	}
	return t.fault(name, t.line, ErrTruncated, "the header is there, but no row follows", "copy the whole output of nvidia-smi topo -m")
}

// known finds a text of a known kind; nil if there is none.
func known(lines []line, name string) error {
	for _, l := range lines {
		for _, r := range reasons {
			if r.sign().MatchString(l.text) {
				return &Error{File: name, Line: l.number, Msg: r.msg, Remedy: r.remedy, Err: ErrNoMatrix}
			}
		}
	}
	return nil
}

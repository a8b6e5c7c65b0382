// Package probe finds the machine it runs on through NVML, CUDA, sysfs and the
// network layer, and describes it as NCCL 2.22 would describe it to itself.
//
// What the machine answers is data: a [Prober] holds it, whether it was read
// just now ([Live]) or recorded before ([Load]). [Prober.Probe] turns it into
// topology XML, one rank after the other as the processes of a job do.
package probe

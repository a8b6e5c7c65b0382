#!/bin/bash
# Runs what a machine of several GPUs should be asked once, by one program that
# was built elsewhere:
#
#   CGO_ENABLED=1 go build -o DIR/ringtopo ./cmd/ringtopo
#   scripts/gpu-many.sh DIR OUT [PART...]
#
# Parts: live, rings, subsets, orders, crowded, processes, links, nccl (all by
# default, in this order). RINGTOPO_NCCL is NCCL's library, RINGTOPO_GPUS how many
# GPUs to take, RINGTOPO_ENGINE another engine, to try the script without GPUs
# (with RINGTOPO_MACHINE, then). Each command has a time limit of its own; OUT gets
# a log for each part.
set -u
bin=$(cd "$1" && pwd) out=$2
shift 2
mkdir -p "$out"
gpus=${RINGTOPO_GPUS:-$(nvidia-smi -L | wc -l)}
machine=${RINGTOPO_MACHINE:+-m $RINGTOPO_MACHINE}
prove="validate --engine ${RINGTOPO_ENGINE:-gpu}"
lib=${RINGTOPO_NCCL:+--libnccl $RINGTOPO_NCCL}
all=LL,LL128,Simple

# cli NAME SECONDS ARGS...: one command, its log, one line of outcome.
cli() {
  local name=$1 limit=$2 begin=$SECONDS got
  shift 2
  { echo "\$ ringtopo $*"; timeout -k 5 "$limit" "$bin/ringtopo" "$@"; got=$?; echo "exit $got"; echo; } >>"$out/$name.log" 2>&1
  echo "$name: ringtopo $*: exit $got after $((SECONDS - begin)) s"
}

# upTo N: 0,1,...,N-1.
upTo() { seq -s, 0 $(($1 - 1)); }

# twice: a machine with two ranks for each GPU.
twice() { case $gpus in 2) echo v100x4 ;; 3 | 4) echo dgx-a100 ;; *) echo dgx-2 ;; esac; }

for p in ${@:-live rings subsets orders crowded processes links nccl}; do
  case $p in
  live) # what the machine is, and what NCCL says of it
    for words in probe "topo --view all" "rings -v" "rings -o table"; do cli live 30 $words $machine; done
    cli live 30 render $machine --out "$out/live.svg"
    NCCL_TOPO_DUMP_FILE=$out/nccl-topo.xml NCCL_GRAPH_DUMP_FILE=$out/nccl-graph.xml NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH \
      cli nccl-live 60 bench --peer nccl $lib $machine --bytes 1MiB --rounds 1 --place out
    ;;
  rings) cli rings 120 $prove $machine --proto $all ;;
  subsets) # rings of some of the GPUs, from the first and from the last on
    for n in 3 5 6 7; do
      [ "$n" -lt "$gpus" ] || continue
      cli subsets 60 $prove $machine --gpus "$(upTo $n)" --proto $all --stress=false
      cli subsets 60 $prove $machine --gpus "$(seq -s, $((gpus - 1)) -1 $((gpus - n)))" --proto $all --stress=false
    done
    ;;
  orders) # random orders of all ranks
    for seed in 1 2 3 4; do
      order=$(seq 0 $((gpus - 1)) | shuf --random-source=<(yes "$seed") | tr '\n' ' ')
      cli orders 60 $prove $machine --ring "$order" --proto $all
    done
    ;;
  crowded) cli crowded 120 $prove -m "$(twice)" --ranks-per-gpu 2 --proto $all ;;
  processes)
    cli processes 120 $prove $machine --procs --proto $all
    cli processes 60 $prove $machine --procs --inject killed-process:rank=1
    ;;
  links) cli links 120 p2p ;;
  nccl) # the best choice, and each ring, beside NCCL's; then what tuning finds
    cli nccl 300 bench --peer nccl $lib $machine --bytes 8:4GiB --how graph,stream --place out --out "$out/best.json"
    for proto in LL LL128 Simple; do
      cli nccl 120 bench --peer nccl $lib $machine --algo ring --proto $proto --bytes 1KiB:4GiB:4 --place out --out "$out/ring-$proto.json"
    done
    cli nccl 200 bench --tune --engine gpu $lib $machine --bytes 1KiB:1GiB:4 --out "$out/tuning.json"
    ;;
  *) echo "$p: no such part" >&2 && exit 2 ;;
  esac
done

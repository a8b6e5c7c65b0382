#!/bin/bash
# Runs the checks that need GPUs from programs that were built elsewhere:
#
#   go test -c -o DIR/gpu.test ./allreduce/gpu
#   CGO_ENABLED=1 go build -o DIR/ringtopo ./cmd/ringtopo
#   CGO_ENABLED=0 go build -o DIR/ringtopo-nocgo ./cmd/ringtopo
#   scripts/gpu-check.sh DIR OUT PART...
#
# Every part has a time limit of its own and leaves a log in OUT.
set -u
bin=$(cd "$1" && pwd) out=$2
shift 2

# part NAME SECONDS TESTS [VAR=VALUE...]: one log, one line of outcome.
part() {
  local name=$1 limit=$2 tests=$3
  shift 3
  local begin=$SECONDS
  (cd allreduce/gpu && export "$@" X= && timeout -k 5 "$limit" "$bin/${BIN:-gpu.test}" -test.v -test.timeout "$((limit - 2))s" -test.run "$tests" ${FLAGS:-}) >>"$out/$name.log" 2>&1
  echo "$name: exit $? after $((SECONDS - begin)) s"
}

# cli NAME SECONDS CODE ARGS...: a command of ringtopo, which must end with a code.
cli() {
  local name=$1 limit=$2 code=$3
  shift 3
  local begin=$SECONDS got
  local program=ringtopo
  [ "$name" = nocgo ] && program=ringtopo-nocgo
  { echo "\$ $program $*"; timeout -k 5 "$limit" "$bin/$program" "$@"; got=$?; echo "exit $got"; echo; } >>"$out/$name.log" 2>&1
  echo "$name: ringtopo $*: exit $got, want $code, after $((SECONDS - begin)) s"
}

for p in "$@"; do
  case $p in
  system) { nvidia-smi; nvidia-smi topo -m; uname -a; } >"$out/system.log" 2>&1 ;;
  startup) part startup 90 'TestStartup|TestPeers|TestMeasureHop|TestGeometry|TestTooManyBlocks' ;;
  contract) part contract 60 'TestContract$' ;;
  placement) part placement 100 'TestContractOneGPU|TestContractStaged|TestContractThroughFIFOs' ;;
  faults) part faults 60 'TestFaults' ;;
  random) part random "${LIMIT:-130}" 'TestRandom$' RINGTOPO_RANDOM="${RINGTOPO_RANDOM:-2500}" ;;
  large) part large 90 'TestLarge$' ;;
  soak) part soak "${LIMIT:-90}" 'TestSoak$' RINGTOPO_SOAK="${RINGTOPO_SOAK:-100000}" ;;
  validate) # every ring of known machines, several ranks on a GPU; and this machine's
    for m in v100x4 dgx-1v dgx-a100; do
      cli validate 60 0 validate --engine gpu -m $m --proto LL,LL128,Simple
    done
    cli validate 60 0 validate --engine gpu
    cli validate 60 0 validate --engine gpu --proto LL,LL128,Simple # a GPU alone has Simple only: 2
    ;;
  ring) part ring 150 'TestSweep' RINGTOPO_SWEEP=ring ;;
  direct) part direct 120 'TestSweep' RINGTOPO_SWEEP=direct ;;
  curves) part curves 100 'TestSweep' RINGTOPO_SWEEP=curves ;;
  rings) part rings 60 'TestKnownRings' ;;
  tune) part tune 120 'TestSweep' RINGTOPO_SWEEP=tune ;;
  variants) # of kernels that were built for a comparison
    for b in "$bin"/gpu*.test; do
      echo "$b" >>"$out/variants.log"
      part variants 60 'TestSweep' RINGTOPO_SWEEP=variant BIN="$(basename "$b")"
    done
    ;;
  compare) # with NCCL in turn, by the program in DIR; RINGTOPO_NCCL is its library, RINGTOPO_MACHINE as for -m
    lib="${RINGTOPO_NCCL:+--libnccl $RINGTOPO_NCCL} ${RINGTOPO_MACHINE:+-m $RINGTOPO_MACHINE}"
    compare() { # NAME SECONDS ARGS...
      local name=$1 limit=$2 begin=$SECONDS
      shift 2
      timeout -k 5 "$limit" "$bin/ringtopo" bench --peer nccl $lib "$@" --out "$out/$name.json" 2>"$out/$name.txt"
      echo "compare $name: exit $? after $((SECONDS - begin)) s"
    }
    compare best 100 --bytes 8:1GiB --how graph,stream
    compare half 80 --bytes 8:1GiB:4 --dtype bfloat16,float16
    for proto in LL LL128 Simple; do
      compare "ring-$proto" 40 --bytes 1KiB:1GiB --algo ring --proto $proto --place out
      compare "ring-$proto-half" 40 --bytes 1KiB:1GiB:8 --algo ring --proto $proto --place out --dtype bfloat16,float16
    done
    ;;
  catch) # every fault on the command line, with several ranks on a GPU
    for fault in dropped-chunk swapped-neighbour stale-flag stopped-rank; do
      for proto in LL LL128 Simple; do
        cli catch 20 1 validate --engine gpu -m v100x4 --bytes 4MiB --proto $proto --buffsize 64KiB --limit 500ms --inject $fault:rank=1,channel=3,step=2
      done
    done
    ;;
  perGPU)
    cli perGPU 30 0 validate --engine gpu -m v100x4 --ranks-per-gpu 4 --bytes 1MiB --rounds 2
    cli perGPU 30 2 validate --engine gpu -m dgx-1v --ranks-per-gpu 1 --bytes 1MiB
    cli perGPU 30 2 validate --engine gpu -m dgx-2 --nodes 2 --ranks-per-gpu 32 --bytes 1MiB
    cli perGPU 30 0 validate --engine gpu -m dgx-2 --bytes 1MiB --proto Simple --rounds 1 --stress=false # fewer channels, with a note
    ;;
  nocgo) # a build without cgo has no probe, but runs kernels
    cli nocgo 20 0 validate --engine gpu -m v100x4 --bytes 1MiB --rounds 1
    cli nocgo 20 3 validate --engine gpu
    ;;
  procsCLI) # one process for each of two GPUs
    cli procsCLI 40 0 validate --engine gpu --procs --proto LL,LL128,Simple
    cli procsCLI 20 1 validate --engine gpu --procs --inject killed-process:rank=1
    cli procsCLI 20 2 validate --engine gpu -m v100x4 --procs
    cli procsCLI 40 0 bench --engine gpu --procs --bytes 1MiB:64MiB:64
    nvidia-smi --query-gpu=memory.used --format=csv >>"$out/procsCLI.log"
    ;;
  launcher) # two processes that a launcher might have started, by its variables
    for r in 1 0; do
      RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=check timeout -k 5 40 \
        "$bin/ringtopo" validate --engine gpu --bytes 16MiB --proto LL,LL128,Simple >>"$out/launcher$r.log" 2>&1 &
      pids="${pids:-} $!"
    done
    for pid in $pids; do wait "$pid"; echo "launcher: exit $?, want 0"; done
    ;;
  choices) # what tuning finds best: with a GPU for each rank, and with four ranks on all GPUs
    lib="${RINGTOPO_NCCL:+--libnccl $RINGTOPO_NCCL} ${RINGTOPO_MACHINE:+-m $RINGTOPO_MACHINE}"
    begin=$SECONDS
    timeout -k 5 90 "$bin/ringtopo" bench --tune --engine gpu $lib --out "$out/tuning.json" >"$out/choices.txt" 2>&1
    echo "choices: exit $? after $((SECONDS - begin)) s"
    timeout -k 5 60 "$bin/ringtopo" bench --tune --engine gpu -m v100x4 --bytes 1KiB:64MiB:8 --out "$out/tuning.json" >>"$out/choices.txt" 2>&1
    echo "choices of four ranks: exit $? after $((SECONDS - begin)) s"
    ;;
  procs) part procs 90 'TestProcess' RINGTOPO_SOAK="${RINGTOPO_SOAK:-100000}" ;;
  nccl) (cd allreduce/nccl && timeout -k 5 60 "$bin/nccl.test" -test.v -test.run 'TestNCCL') >>"$out/nccl.log" 2>&1; echo "nccl: exit $?" ;;
  sanitize) # every ring protocol and direct algorithm, several operations in a launch, few channels
    for tool in memcheck racecheck synccheck; do
      for tests in 'TestGeometry' 'TestContract(OneGPU)?$/^(groups|some_channels|mixed_back_to_back)$'; do
        begin=$SECONDS
        (cd allreduce/gpu && timeout -k 5 100 compute-sanitizer --tool $tool "$bin/gpu.test" -test.v -test.count "${COUNT:-3}" -test.run "$tests") >>"$out/sanitize.log" 2>&1
        echo "$tool, $tests: exit $? after $((SECONDS - begin)) s"
      done
    done
    ;;
  profile)
    (cd allreduce/gpu && timeout -k 5 100 ncu --clock-control none --section LaunchStats -k regex:ring "$bin/gpu.test" -test.v -test.run 'TestGeometryOneGPU') >>"$out/profile.log" 2>&1
    echo "profile: exit $?"
    ;;
  esac
done

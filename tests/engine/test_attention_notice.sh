#!/bin/sh
# attention=fused without cuDNN's attention says why, once in a process however many trainings it opens, and
# trains with our kernels; a bad parameter, which is our mistake, ends it. So does elementwise=epilogue without
# cuBLASLt, or a kernel of it. Over the stand-in for CUDA.
#
# usage: test_attention_notice.sh CHOKEPOINT STAND-IN
set -u

chokepoint=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CHOKEPOINT_PLUGINS="$2" LD_LIBRARY_PATH="$2/lib"

# train PLANS OPTION...: two trainings, with what the stand-in for cuDNN says of its plans.
train()
{
    plans=$1
    shift
    STAND_IN_CUDNN_PLANS=$plans "$chokepoint" train --device=cuda --model=light --data=sequences --blocks=1 \
        --width=64 --tokens=16 --batch=2 --attention=fused --precision=bf16 --steps=2 --repetitions=1 \
        --sweep=rate=0.1,0.01 "$@" >"$folder/out" 2>"$folder/err"
}

fail()
{
    echo "FAILED: $1"
    cat "$folder/out" "$folder/err"
    exit 1
}

train 3000,0 || fail "a plan was there, exit code $?"
! grep -q attention=fused "$folder/err" || fail "a notice, though cuDNN runs"
train 3000,0 --elementwise=epilogue || fail "epilogues were there, exit code $?"
! grep -q elementwise=epilogue "$folder/err" || fail "a notice, though cuBLASLt runs"
export STAND_IN_EPILOGUES=absent
train 3000,0 --elementwise=epilogue || fail "without cuBLASLt, exit code $?"
[ "$(grep -c 'elementwise=epilogue runs .*cuBLASLt is not here' "$folder/err")" = 1 ] || fail "not one notice"
export STAND_IN_EPILOGUES=none
train 3000,0 --elementwise=epilogue || fail "without kernels, exit code $?"
grep -q 'elementwise=epilogue runs .*has no kernel with GELU_AUX_BIAS in bf16 for' "$folder/err" || fail "no notice of GELU"
train 3000,4001 || fail "our own kernels run, exit code $?"
[ "$(grep -c 'our own kernels.*the stand-in.s reason' "$folder/err")" = 1 ] || fail "not one notice"
train 3000,2000
[ $? -eq 3 ] || fail "a bad parameter passed"
grep -q 'cudnnBackendFinalize failed' "$folder/err" || fail "no reason"

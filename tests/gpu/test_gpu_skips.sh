#!/bin/sh
# Every test program given, asked to run on a GPU where there is no driver, must end as skipped (77) and
# say why. Skipped itself where there is a driver.
#
#     test_gpu_skips.sh PROGRAM...
set -u
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    echo "skipped: there is an NVIDIA driver here"
    exit 77
fi
[ $# -gt 0 ] || {
    echo "usage: test_gpu_skips.sh PROGRAM..."
    exit 2
}

failures=0
for program in "$@"; do
    said=$(CHOKEPOINT_TEST_DEVICE=cuda "$program" 2>&1)
    status=$?
    case $status:$said in
    "77:"*"skipped: cuda: there is no NVIDIA driver here"*) ;;
    *)
        echo "FAILED: $program ended with $status and said: $said"
        failures=$((failures + 1))
        ;;
    esac
done
echo "$# programs, $failures not skipped as they should be"
[ "$failures" -eq 0 ]

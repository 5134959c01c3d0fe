"""Holds the Mann-Whitney test and Student's t of `test_mann_whitney --check` against scipy's."""
import random
import subprocess
import sys

from scipy.stats import mannwhitneyu, t as student


def questions(generator):
    """Samples with and without ties, small and large; and t with few and many degrees of freedom."""
    for _ in range(300):
        sides = []
        levels = generator.choice([3, 10, 0])
        for _ in range(2):
            count = generator.choice([1, 2, 3, 5, 8, 9, 20, 24, 60])
            draw = (lambda: float(generator.randrange(levels))) if levels else generator.random
            sides.append([draw() for _ in range(count)])
        yield "u", sides
    for _ in range(300):
        yield "t", (generator.uniform(-12, 12), generator.choice([1, 2, 4, 7, 16, 100, 5000]))


def ask(program, asked):
    lines = []
    for kind, what in asked:
        if kind == "u":
            lines.append("u " + " ".join(f"{len(side)} " + " ".join(map(repr, side)) for side in what))
        else:
            lines.append(f"t {what[0]!r} {what[1]}")
    answer = subprocess.run([program, "--check"], input="\n".join(lines) + "\n", text=True,
                            capture_output=True, check=True)
    return answer.stdout.splitlines()


def main():
    asked = list(questions(random.Random(20261120)))
    answers = ask(sys.argv[1], asked)
    exact = worst = 0
    if len(answers) != len(asked):
        sys.exit(f"{len(asked)} questions, {len(answers)} answers")
    for (kind, what), answer in zip(asked, answers):
        if kind == "u":
            u, p, is_exact = map(float, answer.split())
            exact += is_exact
            theirs = mannwhitneyu(*what, alternative="two-sided",
                                  method="exact" if is_exact else "asymptotic")
            if u != theirs.statistic:
                sys.exit(f"{what}: u is {u}, scipy says {theirs.statistic}")
            expected = theirs.pvalue
            if len(set(what[0] + what[1])) == 1:
                expected = 1.0  # no order at all; scipy divides by 0
        else:
            p, expected = float(answer), 2 * student.sf(abs(what[0]), what[1])
        worst = max(worst, abs(p - expected) / max(expected, 1e-300))
        if not abs(p - expected) <= 1e-9 * expected + 1e-15:
            sys.exit(f"{kind} {what}: p is {p}, scipy says {expected}")
    if not 50 < exact < 290:
        sys.exit(f"only one kind of p was asked for: {exact} of 300 are exact")
    print(f"{len(asked)} p agree with scipy's; largest relative difference {worst:.1e}")


main()

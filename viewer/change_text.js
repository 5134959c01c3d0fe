// A measured change in words: what harness/base/figures/change_text.c says, whose header explains it.

const LEAST_EFFECT = 1.05, ALMOST_NONE = 1000, WANTED_COVERAGE = 0.95;

function knownOr(value, otherwise) { return isKnown(value) ? value : otherwise; }

// The effect and its interval: "1.31x slower" and "1.11 to 1.51". `change` has members as result.json has: "before",
// "after", "effect", "interval", "coverage", "unit" and "direction", null if they are unknown.
function effectWords(change) {
  const [before, after] = [knownOr(change.before, NaN), knownOr(change.after, NaN)];
  let [factor, low, high] = [change.effect, ...(change.interval || [null, null])].map((one) => knownOr(one, NaN));
  if (change.direction === "grows") [factor, low, high] = [1 / factor, 1 / high, 1 / low];
  const coverage = change.coverage ?? 1, shrinks = factor > 1, larger = shrinks ? factor : 1 / factor;
  const special = specialWords(before, after, factor, low, high);
  if (special) return [special, special === "no change" ? intervalWords(low, high, coverage) : ""];
  const backwards = shrinks ? before <= after : before >= after;
  if (low <= 1 && high >= 1 || backwards || Math.abs(larger - 1) < 0.005) {
    const isNear = 1 / LEAST_EFFECT <= factor && factor <= LEAST_EFFECT;
    return [isNear ? "no change" : "unclear", openWords(low, high, coverage)];
  }
  if (larger >= ALMOST_NONE) return [`almost none ${shrinks ? "left" : "before"}`, ""];
  const text = factorText(larger);
  return [change.unit === "us" ? `${text} ${shrinks ? "faster" : "slower"}` : `${shrinks ? "down" : "up"} ${text}`,
    shrinks ? intervalWords(low, high, coverage) : intervalWords(1 / high, 1 / low, coverage)];
}

// The words if no factor describes the change.
function specialWords(before, after, factor, low, high) {
  if (!Number.isFinite(before) || !Number.isFinite(after)) return "not measured";
  if (before === after && low === high) return "no change";
  if (before !== 0 && after === 0) return "none left";
  if (before === 0 && after !== 0) return "none before";
  return factor > 0 && Number.isFinite(factor) ? "" : "unclear";
}

// Too few pairs have no interval of 95%: their range is that of all.
function allWords(coverage) { return coverage > WANTED_COVERAGE ? "" : "all "; }

function openWords(low, high, coverage) {
  const farther = Math.max(high, 1 / low);
  if (!Number.isFinite(farther)) return "";
  return coverage > 0 ? `${allWords(coverage)}within ${factorText(farther)}` : "one pair";
}

function intervalWords(low, high, coverage) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "";
  if (!(coverage > 0)) return "one pair";
  return low === high ? "exact" : `${allWords(coverage)}${digits(low)} to ${digits(high)}`;
}

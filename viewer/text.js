"use strict";
// Numbers for people, as harness/base/figures/quantity.c prints them: three digits and a unit.

const UNKNOWN = "–";
const PREFIXES = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15]];
const RATES = ["B/s", "FLOP/s", "Hz"];
const SCALES = new Map([["us", [["ns", 1e-3], ["us", 1], ["ms", 1e3], ["s", 1e6]]],
  ["B", [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30]]],
  ...RATES.map((unit) => [unit, PREFIXES.map(([prefix, size]) => [prefix + unit, size])])]);

// Whether a JSON value is a number; null stands for what was not measured.
function isKnown(value) { return typeof value === "number" && Number.isFinite(value); }

// So many decimals, without an exponent. Between two of them the even one, as in C; toFixed() takes the larger one.
function fixedText(value, decimals) {
  if (Math.abs(value) >= 1e21) return BigInt(value) + (decimals > 0 ? `.${"0".repeat(decimals)}` : "");
  const text = value.toFixed(decimals), halves = value * 2 ** (decimals + 1);
  const isBetween = Number.isInteger(halves) && halves % 2 !== 0;
  const last = Number(text.at(-1));
  return isBetween && last % 2 === 1 ? text.slice(0, -1) + (last - 1) : text;
}

function digits(value) {
  return fixedText(value, Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
}

// One digit, and an exponent if it is below 0.0001.
function oneDigit(value) {
  const [digit, exponent] = value.toExponential(0).split("e");
  return Number(exponent) >= -4 ? value.toFixed(-Number(exponent)) : `${digit}e-${exponent.slice(1).padStart(2, "0")}`;
}

// 1420 us is "1.42 ms".
function quantityText(value, unit = "") {
  if (!isKnown(value)) return UNKNOWN;
  if (unit === "ns") return quantityText(value / 1e3, "us");
  if (value === 0) return `0 ${unit}`.trimEnd();
  const scales = SCALES.get(unit);
  if (!scales && Math.abs(value) < 0.01) return `${oneDigit(value)} ${unit}`.trimEnd();
  const least = RATES.includes(unit) ? 0.9995 : 1;
  const [name, size] = !scales ? [unit, 1]
    : [...scales].reverse().find(([, one]) => Math.abs(value) >= least * one) || scales[0];
  if (size === 1 && ["us", "B"].includes(unit) && Number.isInteger(value)) return `${fixedText(value, 0)} ${name}`;
  return `${digits(value / size)} ${name}`.trimEnd();
}

function timeText(ns) { return quantityText(ns, "ns"); }
function sizeText(bytes) { return quantityText(bytes, "B"); }
function factorText(value) { return isKnown(value) ? `${digits(value)}x` : UNKNOWN; }
function shareText(value) { return isKnown(value) ? `${fixedText(100 * value, 1)}%` : UNKNOWN; }

function countText(value) {
  return isKnown(value) ? fixedText(value, 0).replace(/\B(?=(\d{3})+$)/g, ",") : UNKNOWN;
}

// A count of a kernel: whole numbers are written out.
function countedText(value, unit = "") {
  return isKnown(value) && !unit && Number.isInteger(value) ? countText(value) : quantityText(value, unit);
}

// "1 event", "2 events".
function plural(count, noun) { return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`; }

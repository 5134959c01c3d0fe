"""From the JSON of `chokepoint job --map` to a page: its findings, ranks against steps as a heat map, and each rank's steps.
Values of the map are packed to a byte each, so that 16,384 ranks fit into 3 MB."""
import array
import base64
import math
import zlib

from report_page import page

MALFORMED = page.MALFORMED
SCRIPTS = ("theme.js", "packed.js", "charts.js", "canvas.js", "timeline.js", "heat_map.js", "rank_steps.js", "job.js")
STYLES = ("style.css", "job.css")
NODES_SHOWN = 8
LEVELS = 127
NAMES = {"late": "own time beyond the others'", "waits": "waits for others", **page.PARTS}


def packed_values(values):
    """The largest, and a byte per value: its square root in 127ths of the root of the largest, so that small ones have nearly
    the same relative error as large ones. Less than zero is possible."""
    most = max([1, *values, *[-value for value in values]])
    scale = LEVELS / math.sqrt(most)
    return most, array.array("b", [round(math.copysign(scale * math.sqrt(abs(value)), value)) for value in values]).tobytes()


def packed_layer(layer, rows):
    if len(layer["ns"]) != rows * layer["columns"]:
        raise ValueError(f"layer {layer['name']} has {len(layer['ns'])} values")
    most, levels = packed_values(layer["ns"])
    return {"name": layer["name"], "title": NAMES.get(layer["name"], layer["name"]), "columns": layer["columns"],
            "steps_per_column": layer["steps_per_column"], "most_ns": most}, levels


def packed_map(found):
    """The data that the page draws: numbers as JSON, and the values of all layers behind each other as bytes."""
    ranks = found["map"]["ranks"]
    layers, values = zip(*[packed_layer(layer, len(ranks)) for layer in found["map"]["layers"]])
    timeline = found["map"]["timeline"]
    most, entries = packed_values(timeline["own_wait_transfer_ns"])
    numbers = {"timeline": {"steps": timeline["steps"], "counts": timeline["counts"], "most_ns": most}, "ranks": ranks, "nodes": found["map"]["nodes"], "names": [node["node"] for node in found["nodes"]],
               "steps": found["map"]["steps"], "layers": layers,
               "step_ns": found["step_ns"],
               "marks": [mark_of(finding, found) for finding in found["findings"]]}
    return page.packed(numbers), base64.b64encode(zlib.compress(b"".join([*values, entries]), 9)).decode()


def mark_of(finding, found):
    """Where a finding is in the map: a rank, nodes, or nowhere."""
    named = [number for number, node in enumerate(found["nodes"])
             if node["node"] == finding["node"] or (finding["rack"] and node["rack"] == finding["rack"])]
    return {"rank": finding["rank"], "nodes": named}


def farthest_nodes(found):
    known = [node for node in found["nodes"] if node["clock_offset_ns"] is not None]
    return sorted(known, key=lambda node: -abs(node["clock_offset_ns"]))[:NODES_SHOWN]


def render(found, _):
    numbers, values = packed_map(found)
    return page.filled(
        "job.html", SCRIPTS, STYLES, job=found, clocks=farthest_nodes(found), numbers=numbers, values=values, names=NAMES,
        layers=[(layer["name"], NAMES.get(layer["name"], layer["name"])) for layer in found["map"]["layers"]])

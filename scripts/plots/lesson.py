"""One scenario in one picture, for its page: what it expects to change, and its step times."""

from . import effects, read, steps, style

NAME = "lesson"
HELP = "one scenario: everything that it expects to change, and its step times"
MANY = False


def data(options):
    scenario = read.scenario(options.inputs[0], read.one_name(options))
    return scenario_data(read.result(options.inputs[0]), scenario)


def scenario_data(loaded, scenario):
    rows = {"step_time": effects.time_row(scenario)}
    for expectation in effects.expectations(scenario):  # a metric has several if devices differ
        rows.setdefault(expectation.get("metric"), effects.expectation_row(expectation, scenario))
    return {**steps.scenario_data(loaded, scenario),
            "rows": [one for one in rows.values() if one["share"] is not None]}


def draw(found, theme):
    if not found["rows"]:
        return steps.nothing(theme, found["name"], found["origin"], steps.missing(found))
    bars = (len(found["rows"]) + 0.3) * style.ROW
    times = steps.everything(found)
    height = 1.75 + bars + (3.1 if times else 0.4)
    figure = style.new_figure(height)
    used = style.head(figure, theme, f"{found['name']}: {found['title']}", found["origin"])
    used = steps.legend(figure, theme, found, used)
    axes = figure.add_subplot()
    effects.draw_rows(figure, theme, axes, found["rows"], [one["metric"] for one in found["rows"]], used,
                      height - used - bars)
    if times:
        below = figure.add_subplot()
        steps.draw_histogram(below, found, style.THEMES[theme])
        style.place(figure, below, 1.1, 0.75, style.EDGE, used + bars + 0.75)
    return figure

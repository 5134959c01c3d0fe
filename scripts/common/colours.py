"""A colour for every name that the report and the plots show: of what fills a step, of causes for which a device is
idle, of phases, and of work. One name, one colour; names of the same thing share it. After Okabe and Ito, "Color
Universal Design" (2008), whose eight colours have lighter and darker kin here."""

# The device computes, by three names: in a step, in a timeline, and beside what is idle.
ALIKE = {"computation": "kernel", "busy": "kernel"}

COLOURS = {
    "kernel": "#0072b2", "communication": "#c51b8a", "copy": "#f0e442", "memset": "#f4a6c6",
    "runtime": "#56b4e9", "data_loading": "#e69f00", "host": "#66a182", "other": "#d9dcdf",
    "queued": "#c8ccd0", "stalled": "#6b7177", "unknown": "#8d959d", "outside": "#aeb4ba",
    "operators": "#009e73", "loading": "#ffb733", "logging": "#8c510a", "saving": "#7f6a4f",
    "launching": "#8ecae6", "copying": "#c9b400", "allocating": "#cc79a7", "waiting": "#d55e00",
    "first_use": "#8c6d31", "capturing": "#a8c545", "host_work": "#7570b3",
    "data": "#ffcf7a", "h2d": "#d6cf6a", "forward": "#9ecae9", "backward": "#4c78a8",
    "optimizer": "#b07fc7", "graph": "#4fb04a", "log": "#f28e6b", "save": "#b39b7d", "steps": "#c0c5ca",
}


def colour(name):
    return COLOURS.get(ALIKE.get(name, name))

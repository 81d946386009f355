"""Where a user meets the messages of each module: topics and their sections, the usual first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """Messages of modules, or of those below them, under one heading."""

    title: str
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """What a user does when these messages appear."""

    title: str
    lead: str
    sections: tuple[Section, ...]


TOPICS = (
    Topic(
        "The experiment file",
        "The command has read a file of an experiment; nothing was run.",
        (
            Section(
                "File, tables and keys",
                (
                    "experiment.toml",
                    "experiment.reading",
                    "experiment.document",
                    "experiment.key_paths",
                    "experiment.shorthand",
                    "experiment.tables",
                    "experiment.origin",
                    "experiment",
                ),
            ),
            Section("Values and units", ("units", "experiment.quantity")),
            Section(
                "Hosts, switches and links",
                (
                    "experiment.network",
                    "experiment.classes",
                    "experiment.components",
                    "experiment.lowering",
                ),
            ),
            Section(
                "Segments and stations",
                (
                    "experiment.segment",
                    "experiment.layout",
                    "topology",
                    "experiment.stations",
                    "experiment.media",
                    "experiment.plca",
                ),
            ),
            Section(
                "Flows and their traffic",
                (
                    "experiment.flows",
                    "experiment.traffic",
                    "experiment.frames",
                    "experiment.transfers",
                    "experiment.voice",
                ),
            ),
            Section(
                "Message tables, spreadsheets and traces",
                (
                    "experiment.message_tables",
                    "experiment.sheets",
                    "experiment.trace_files",
                    "traces",
                    "crate traffic",
                ),
            ),
            Section("Backoffs and sources in Python", ("functions",)),
            Section(
                "Phases, variation and the plan",
                ("experiment.phases", "plan", "trial", "crate simulator"),
            ),
        ),
    ),
    Topic(
        "The command line",
        "Arguments and options of a command.",
        (
            Section("Every command", ("cli", "api")),
            Section(
                "run, validate, show and study",
                ("api.experiments", "api.shipped", "api.validate", "api.study", "studies"),
            ),
            Section("model and calls", ("models", "calls")),
            Section("bus", ("api.bus", "api.bus_interface")),
        ),
    ),
    Topic(
        "The run directory",
        "A run is written, continued or read.",
        (
            Section(
                "Writing and continuing a run",
                ("execution", "store.recorder", "engines.work", "engines.cluster", "engines"),
            ),
            Section(
                "Reading a run",
                (
                    "store.directory",
                    "store.integrity",
                    "store.measured",
                    "store.captures",
                    "json_values",
                    "api.runs",
                    "results",
                    "exploration",
                    "store",
                    "analysis",
                ),
            ),
            Section(
                "Pages, figures and tables",
                ("report", "api.report", "analysis.tables", "api.tables", "render", "present"),
            ),
            Section("Two runs, and results of other programs", ("api.compare", "imports")),
            Section(
                "Checks of a run",
                ("api.checks", "analysis.checks", "analysis.regressions"),
            ),
        ),
    ),
    Topic(
        "Searches, benchmarks and calibration",
        "`ethermeter find`, `ethermeter fit` and `ethermeter predict`.",
        (
            Section("Search for a value", ("search", "experiment.search")),
            Section(
                "Benchmark",
                ("api.find", "benchmark", "analysis.benchmark", "strategies"),
            ),
            Section("Bottleneck of a transfer", ("bottleneck",)),
            Section("Calibration and prediction", ("calibration", "api.predict")),
        ),
    ),
    Topic(
        "Measurement",
        "`ethermeter measure`, and `ethermeter study` with `--on`.",
        (
            Section(
                "The experiment as a measurement",
                (
                    "api.live_tests",
                    "engines.live.places",
                    "engines.live.description",
                    "engines.live.media",
                    "engines.live.segments",
                    "engines.live.agents",
                    "engines.live.recording",
                    "engines.live.trials",
                    "engines.live",
                    "analysis.accounts",
                ),
            ),
            Section("Testbeds", ("testbed", "api.testbed_view")),
            Section("Ceilings of a host and its path", ("ceilings", "analysis.roofline")),
            Section("Frames on an interface", ("crate net",)),
        ),
    ),
    Topic(
        "Agents",
        "`ethermeter agent`, `ethermeter hosts`, and tests between agents.",
        (
            Section("Hosts and certificates", ("hosts_file", "api.hosts")),
            Section("An agent and its grants", ("api.agent", "crate agent", "crate station")),
        ),
    ),
    Topic(
        "Measurement of one host",
        "`ethermeter probe` and `ethermeter reflector`.",
        (
            Section(
                "STAMP, TWAMP Light and iperf3",
                ("api.probe", "probing", "api.reflector", "crate peer"),
            ),
        ),
    ),
    Topic(
        "Captures",
        "`ethermeter explain`, and captures of a measurement.",
        (Section("Capture files", ("api.captures", "captures", "crate capture")),),
    ),
)


def section_of(module: str) -> Section:
    """Return the section that names a module, or the module above it that is nearest.

    Raises LookupError if there is none.
    """
    names = {
        name: section for topic in TOPICS for section in topic.sections for name in section.modules
    }
    above = module
    while above:
        if above in names:
            return names[above]
        above = above.rpartition(".")[0]
    raise LookupError(f"no section of the page of errors names {module}: add it to TOPICS")

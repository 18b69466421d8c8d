"""What the runs of the golden histories are: small corpora, questions, reviews, decisions, kills, retries, publications.

Plain data, because the code of any commit is given it. A later release adds scenarios; those that were played stay.
"""

from typing import Any

CORPORA: dict[str, dict[str, str]] = {
    "garden": {
        "beans.md": "# Beans\n\nRunner beans climb a pole that is two metres high. They are sown in May, after the last"
        " frost.\n",
        "compost.md": "# Compost\n\nA compost heap reaches 60 degrees in its core. It is turned every three weeks so"
        " that air reaches the middle.\n",
        "pond.md": "# Pond\n\nA garden pond needs a depth of 80 centimetres so that fish survive the winter. The pump"
        " is switched off in November.\n",
    },
    "river": {
        "lock.md": "# Locks\n\nThe ferry takes the northern lock at noon. Barges wait below the weir until evening.\n",
        "weir.md": "# The weir\n\nThe weir holds the river at two metres. It is opened when the gauge shows three"
        " metres.\n",
        "gauge.txt": "The gauge at the bridge is read at eight every morning by the lock keeper.\n",
    },
    "archive": {
        "rules-2019.md": "# Reading room rules\n\nThe reading room opens at nine. Readers may order ten volumes a"
        " day.\n",
        "rules-2024.md": "# Reading room rules\n\nThe reading room opens at ten. Readers may order six volumes a"
        " day.\n",
        "climate.md": "# Climate\n\nThe vault is kept at 16 degrees and 45 percent humidity. Alarms ring when it is"
        " warmer.\n",
    },
}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "garden": (
        "When are runner beans sown, and how many degrees does a compost heap reach?",
        "What depth does a garden pond need, and when is the pump switched off?",
        "How often is a compost heap turned?",
    ),
    "river": (
        "Which lock does the ferry take, and when is the weir opened?",
        "Who reads the gauge at the bridge?",
        "How high does the weir hold the river, and where do barges wait?",
    ),
    "archive": (
        "When does the reading room open, and how many volumes may readers order?",
        "How warm is the vault kept, and what happens when it is warmer?",
        "What does a ticket to the museum cost?",
    ),
}

ALL = "plan,sources,report"

#: What differs from a run that nobody looks at; `min_version` is the workflow that has it.
VARIATIONS: tuple[dict[str, Any], ...] = (
    {"name": "plain"},
    {"name": "auto", "review": "auto"},
    {"name": "approved", "review": ALL},
    {"name": "plan-edited", "review": "plan", "decisions": [["plan", "edit"]]},
    {"name": "plan-respond", "review": "plan", "decisions": [["plan", "respond"]]},
    {"name": "plan-rejected", "review": "plan", "decisions": [["plan", "reject"]]},
    {"name": "sources-edited", "review": "sources", "decisions": [["sources", "edit"]]},
    {"name": "sources-respond", "review": "sources", "decisions": [["sources", "respond"]]},
    {"name": "report-edited", "review": "report", "decisions": [["report", "edit"]]},
    {"name": "report-rejected", "review": ALL, "decisions": [["report", "reject"]]},
    {"name": "waits-plan", "review": ALL, "stop_at": "plan"},
    {"name": "waits-sources", "review": ALL, "stop_at": "sources"},
    {"name": "waits-report", "review": ALL, "stop_at": "report"},
    {"name": "killed-intent", "kill": ["after_intent", 2]},
    {"name": "killed-result", "review": "report", "kill": ["before_result", 3]},
    {"name": "killed-checkpoint", "review": "plan", "kill": ["before_checkpoint", 9]},
    {"name": "killed-writes", "kill": ["after_writes", 8]},
    {"name": "killed-completion", "kill": ["before_completion", 1]},
    {"name": "retried", "review": "report", "retry": True},
    {"name": "published", "publish": ["file"], "min_version": 2},
    {"name": "published-table", "publish": ["postgres"], "min_version": 2},
    {"name": "released", "review": "effect", "publish": ["file", "postgres"], "min_version": 2},
    {"name": "waits-effect", "review": "effect", "publish": ["file"], "stop_at": "effect", "min_version": 2},
    {"name": "killed-sending", "publish": ["file"], "kill": ["after_send", 1], "min_version": 2},
    {"name": "killed-unsent", "publish": ["postgres"], "kill": ["before_send", 1], "min_version": 2},
    {"name": "report-rewritten", "review": "report", "decisions": [["report", "rewrite"]], "min_version": 2},
    {"name": "two-persons", "review": "plan", "two_persons": ["plan"], "min_version": 2},
)  # fmt: skip


def scenarios(version: int) -> list[dict[str, Any]]:
    """Return the runs of a commit with this version of the workflow, each with a corpus and a question of its own."""
    played = [each for each in VARIATIONS if each.get("min_version", 1) <= version]
    made: list[dict[str, Any]] = []
    names = list(CORPORA)
    for number, variation in enumerate(played):
        for again in range(2 if variation["name"] in _TWICE else 1):
            corpus = names[(number + again) % len(names)]
            question = QUESTIONS[corpus][(number // len(names) + again) % 3]
            name = f"{variation['name']}-{corpus}"
            made.append({**variation, "name": name, "corpus": corpus, "question": question})
    return made


_TWICE = frozenset(
    {"plain", "auto", "approved", "plan-edited", "sources-edited", "report-edited", "retried", "waits-report"}
)  # fmt: skip

"""The researcher that needs no language model: it finds the sentences that answer and says where they stand.

Deterministic in every process. It claims nothing in words of its own: each claim is a stretch of a document.
"""

from collections.abc import Mapping, Sequence

from nodes.material import Assessment, Claim, ClaimDraft, Passage, Quote, Task, TaskDraft
from nodes.researchers.facets import plan_tasks
from nodes.researchers.keywords import read_question
from nodes.researchers.relevance import best_quotes

CLAIMS_MAX = 5


class ExtractiveResearcher:
    name = "extractive"
    version = "1"
    disclosure = "This report was made without a language model, by extracting sentences from the documents."

    async def plan(self, question: str, tasks_max: int) -> tuple[TaskDraft, ...]:
        return plan_tasks(question, tasks_max)

    async def queries(self, task: Task) -> tuple[str, ...]:
        keywords = read_question(task.question).keywords
        full = " ".join(k.word for k in keywords)
        subject = " ".join(k.word for k in keywords if not k.is_asking)
        names = " ".join(k.word for k in keywords if k.is_name)
        return tuple(dict.fromkeys(q for q in (full, subject, names) if q)) or (task.question,)

    async def extract(
        self, task: Task, passages: Sequence[Passage], rarity: Mapping[str, float]
    ) -> tuple[ClaimDraft, ...]:
        return tuple(
            ClaimDraft(c.text, (Quote(c.passage.text_artifact, c.start, c.end),), min(c.score, 1.0))
            for c in best_quotes(read_question(task.question), passages, rarity, CLAIMS_MAX)
        )

    async def assess(self, task: Task, claims: Sequence[Claim], round_number: int) -> Assessment:
        return Assessment(bool(claims))

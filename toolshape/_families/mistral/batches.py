"""How the batches of Mistral hold requests and results."""

from toolshape._families.openai.batches import LINE, OPENAI_BATCH
from toolshape._families.wire.batches import BatchForm

MISTRAL_BATCH = BatchForm(
    id=("custom_id",),
    body=("body",),
    model="either",
    refuses=OPENAI_BATCH.refuses,
    results=(LINE,),
    evidence="BatchRequest and BatchJob.outputs of mistralai 3.7.0, 2026-11-28",
)

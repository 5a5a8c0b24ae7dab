"""How the batches of Bedrock hold requests and results."""

from toolshape._families.wire.batches import BatchForm, ResultPlace

_RECORD = ResultPlace(("recordId",), ("modelOutput",), ("error",))
BEDROCK_BATCH = BatchForm(
    id=("recordId",),
    body=("modelInput",),
    model="job",
    refuses={
        "toolConfig": "a batch of the Converse form takes no tools: for Claude, write "
        'modelInput in the form of bind("anthropic"), for a job of the InvokeModel form',
    },
    results=(_RECORD,),
    evidence="docs.aws.amazon.com/bedrock batch-inference, ModelInvocationType of botocore 1.44.8, "
    "2026-11-28",
)

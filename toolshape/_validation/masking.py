"""Masks what coercions show of secrets."""

from collections.abc import Sequence

from toolshape._records.calls import Coercion
from toolshape._schema.places import location_of
from toolshape._schema.secrets import Secrets
from toolshape._validation.faults import path_of
from toolshape._validation.settings import Validate, Validated


def masking(validate: Validate, secrets: Secrets) -> Validate:
    """Return a validator whose coercions show no secret."""
    if not secrets.are_there:
        return validate

    def validate_masked(arguments: object) -> Validated:
        validated, coercions = validate(arguments)
        return validated, masked_coercions(coercions, secrets)

    return validate_masked


def masked_coercions(coercions: Sequence[Coercion], secrets: Secrets) -> tuple[Coercion, ...]:
    """Return coercions in which what may be secret is masked: values, and the
    names of fields that are secret.
    """
    return tuple(_masked(coercion, secrets) for coercion in coercions)


def _masked(coercion: Coercion, secrets: Secrets) -> Coercion:
    location = location_of(coercion.path)
    visible = secrets.visible(location)
    if visible == location:
        path = coercion.path
    else:
        path = path_of(visible)
    return Coercion(
        path=path,
        rule=coercion.rule,
        before=secrets.masked(coercion.before, location),
        after=None if coercion.after is None else secrets.masked(coercion.after, location),
    )

"""What people change of themselves."""

from contextdash.actor import Actor
from contextdash.errors import Invalid
from contextdash.models import User
from contextdash.models.user import Theme
from contextdash.writer import write


@write
def set_theme(*, person: User, theme: str, actor: Actor) -> User:
    if theme not in Theme.values:
        raise Invalid(f"theme must be one of {', '.join(Theme.values)}.", field="theme")
    person.theme = theme
    person.save(update_fields=["theme"])
    return person

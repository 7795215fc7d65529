"""What references stand for: an object at one time, or the element of a window.

In a function `~x` is the object that it was given, or a field of one. Inside a
reduction a reference to a window is the element, and all of them name one window.
"""

from collections.abc import Sequence
from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.body_state import Elaboration
from tiltpy.frontend.elaboration.reference_rules import (
    other_keys,
    payload_of,
    read_alive,
    read_window,
    unknown_object,
)
from tiltpy.frontend.elaboration.tick_constants import offset
from tiltpy.frontend.hints import general as advice
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.poison import Broken
from tiltpy.ir.construct.structs import field
from tiltpy.ir.nodes import At, Element, Expr
from tiltpy.source import Span
from tiltpy.types import Type


class Lookup(Elaboration):
    """The elaboration of references."""

    def _visible(self) -> list[str]:
        """The objects that have a name here."""
        query = () if self.scope.closed else self.objects.named()
        return [*self.scope.objects, *query]

    def _resolve(self, ref: syntax.Ref) -> tuple[syntax.Ref, tuple[syntax.Word, ...]]:
        """A reference to an object of the query, and which field of it is meant."""
        alias = self.scope.objects.get(ref.object)
        if alias is not None:
            if alias.object is None:
                raise Broken
            return replace(ref, object=alias.object), alias.fields
        if ref.object in self.scope.names and ref.object not in self.objects.types:
            way = f"`{ref.object}` is a value: write {ref.object} without ~"
            raise unknown_object(ref, (), way)
        if self.scope.closed or ref.object in self.objects.found.values():
            raise unknown_object(ref, self._visible())
        return ref, ()

    def _payload(self, ref: syntax.Ref) -> Type:
        """The payload type of an object that this body reads.

        All of those with keys have the same.
        """
        payload = payload_of(ref, self.objects)
        keys = self.objects.keys[ref.object]
        self.keyed = self.keyed or (ref if keys else None)
        if keys and self.keyed and keys != self.objects.keys[self.keyed.object]:
            raise other_keys(ref, self.keyed, self.objects)
        return payload

    def _field_of(self, value: Expr, fields: Sequence[syntax.Word]) -> Expr:
        for word in fields:
            value = self._field(value, word, value.span)
        return value

    def _field(self, value: Expr, word: syntax.Word, span: Span) -> Expr:
        """A field of a value."""
        try:
            return field(value, word.text, span, word.span)
        except QueryError as error:
            error.hint = self._read_key(word.text) or error.hint
            raise

    def _read_key(self, name: str) -> str:
        """How a key can be read, for what is called like one."""
        known = self.objects.keys.items()
        keyed = next((of for of, keys in known if name in keys), None)
        return "" if keyed is None else advice.read_key(keyed, name)

    def _ref(self, ref: syntax.Ref) -> Expr:
        target, fields = self._resolve(ref)
        payload, time = self._payload(target), self.scope.time
        if ref.start is None:
            raise QueryError(
                "E0103",
                f"~{ref.object} is a temporal object; say at which time",
                ref.span,
                advice.which_time(
                    ref.object,
                    time,
                    reducing=self.frame is not None and not self.frame.active,
                ),
            )
        if ref.stop is not None or (self.frame is not None and self.frame.active):
            value = self._window_element(target, payload)
        elif self.frame is not None:
            raise QueryError(
                "E0113",
                f"~{ref.object} at one point stands inside a reduction",
                ref.span,
                advice.window_for(ref, time),
            )
        else:
            ticks = offset(ref.start, time, self.scope.times)
            value = At(target.object, ticks, payload, ref.span)
        return self._field_of(value, fields)

    def _window_element(self, ref: syntax.Ref, payload: Type) -> Expr:
        frame, scope = self.frame, self.scope
        if frame is not None and frame.active:
            window = read_alive(ref, scope.time, scope.times, self.objects)
        else:
            window = read_window(ref, scope.time, scope.times)
        if frame is None:
            raise QueryError(
                "E0106",
                "a window holds many values",
                ref.span,
                advice.reduced(ref),
            )
        if frame.window not in (None, window):
            raise QueryError(
                "E0113",
                "a second window inside one reduction",
                ref.span,
                "reduce each, or define an object that combines them first",
            )
        frame.window = window
        return Element(payload, ref.span)

# SPDX-License-Identifier: BSD-3-Clause
"""Groups events of an ETDump: the events of one instruction, and those of equal instructions in other runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdk.devtools.etdump import schema_flatcc as flatcc
from sdk.devtools.etdump.schema_flatcc import DebugEvent, ProfileEvent


def find_populated_event(event: flatcc.Event) -> ProfileEvent | DebugEvent:
    """The profile or debug event that an event holds. Raises ValueError if it holds neither."""
    if event.profile_event is not None:
        return event.profile_event
    if event.debug_event is not None:
        return event.debug_event
    raise ValueError("expected an event with a profile_event or a debug_event, found one with neither")


def delegate_ids(event: ProfileEvent | DebugEvent) -> tuple[int | None, str | None]:
    """The identifier that a delegate gave an event, as (integer, text), one of which is None."""
    number, text = event.delegate_debug_id_int, event.delegate_debug_id_str
    return (number if number is not None and number != -1 else None), (text or None)


_NO_CHAIN = (-1, 2**64 - 1)  # -1, and the same as an unsigned number


def instruction_of(event: ProfileEvent | DebugEvent) -> int:
    """The number of the instruction that an event belongs to; -1 for an event of a whole method, which the runtime
    writes as an instruction outside of all chains."""
    return -1 if event.chain_index in _NO_CHAIN else event.instruction_id


@dataclass(frozen=True)
class InstructionEventSignature:
    """An instruction, or an operator that a delegate runs inside of one."""

    instruction_id: int
    chain_index: int
    delegate_id: int | None = None
    delegate_id_str: str | None = None


@dataclass(frozen=True)
class ProfileEventSignature:
    """The profile event of an instruction."""

    name: str
    instruction_id: int | None
    delegate_id: int | None = None
    delegate_id_str: str | None = None

    @staticmethod
    def _gen_from_event(event: ProfileEvent) -> ProfileEventSignature:
        number, text = delegate_ids(event)
        return ProfileEventSignature(event.name or "", instruction_of(event), number, text)


@dataclass(frozen=True)
class DebugEventSignature:
    """The recorded value of an instruction."""

    name: str = ""
    instruction_id: int | None = -1
    delegate_id: int | None = None
    delegate_id_str: str | None = None

    @staticmethod
    def _gen_from_event(event: DebugEvent) -> DebugEventSignature:
        number, text = delegate_ids(event)
        return DebugEventSignature(event.name or "", instruction_of(event), number, text)


@dataclass
class InstructionEvent:
    """The events in one run of an instruction, or of an operator that a delegate runs inside of one."""

    signature: InstructionEventSignature
    profile_events: list[ProfileEvent] | None = None
    debug_events: list[DebugEvent] | None = None

    @staticmethod
    def gen_from_events(run_events: Sequence[flatcc.Event]) -> list[InstructionEvent]:
        """Groups the events of a run by instruction, in the order of their first events. Outputs of the method and
        allocations belong to no instruction."""
        found: dict[InstructionEventSignature, InstructionEvent] = {}
        for event in run_events:
            if event.profile_event is None and event.debug_event is None:
                continue
            populated = find_populated_event(event)
            signature = InstructionEventSignature(
                instruction_of(populated), populated.chain_index, *delegate_ids(populated)
            )
            if isinstance(populated, DebugEvent):
                if is_output(populated):
                    continue
                group = found.setdefault(signature, InstructionEvent(signature))
                group.debug_events = [*(group.debug_events or ()), populated]
            else:
                group = found.setdefault(signature, InstructionEvent(signature))
                if group.profile_events is None:
                    group.profile_events = []
                group.profile_events.append(populated)
        return list(found.values())


@dataclass(frozen=True)
class EventSignature:
    """Identifies an event of the Inspector; the same in every run."""

    instruction_id: int | None
    profile_event_signature: ProfileEventSignature | None = None
    debug_event_signature: DebugEventSignature | None = None

    @staticmethod
    def gen_from_instruction_event(
        instruction_event: InstructionEvent,
    ) -> list[tuple[EventSignature, InstructionEvent]]:
        """A signature for each name under which an instruction was measured, with its events. An instruction that was
        only recorded gets one without a measurement.

        An instruction that a run executes several times, in a loop, has several events of one signature.
        """
        signature, debug = instruction_event.signature, instruction_event.debug_events
        if debug is not None and not debug:
            raise ValueError("expected at least one debug event, found an empty list")
        debug_signature = DebugEventSignature._gen_from_event(debug[0]) if debug else None
        if not instruction_event.profile_events:
            return [(EventSignature(signature.instruction_id, None, debug_signature), instruction_event)]
        found: dict[EventSignature, InstructionEvent] = {}
        for event in instruction_event.profile_events:
            key = EventSignature(
                signature.instruction_id, ProfileEventSignature._gen_from_event(event), debug_signature
            )
            group = found.setdefault(key, InstructionEvent(signature, [], debug))
            assert group.profile_events is not None
            group.profile_events.append(event)
        return list(found.items())


def is_output(event: DebugEvent) -> bool:
    """Whether a recorded value is an output of the method."""
    output = event.debug_entry.output if event.debug_entry is not None else None
    return output is not None and output.bool_val

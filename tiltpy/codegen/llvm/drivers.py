"""Loops over calls of kernels, in LLVM IR.

Small calls take less time than from Python.

`void call_many(ptr calls, i64 count, ptr next, ptr stop)` makes each of a number of
calls: a call is a kernel and its argument array. `next` counts those that are taken, so
that threads can share them. No call is begun, and those under way return early, when
the flag at `stop` is set; then nobody may look at what they wrote.

`void call_appending(ptr kernel, ptr slots, i64 count, i64 width, ptr outputs, i64
number, ptr stop)` calls one kernel with argument arrays of `width` slots that lie one
behind the other, and has each call write where the one before has ended: of each of
`number` outputs, three numbers at `outputs` say its slot, the slot with its count, the
bytes of an item. The first call has the output's address in that slot, each other one
the number of bytes that are left free before what it writes. It heeds the flag at
`stop` like `call_many`.
"""

DRIVERS = """\
define void @call_many(ptr %calls, i64 %count, ptr %next, ptr %stop) {
entry:
  br label %poll
poll:
  %flag = load volatile i64, ptr %stop
  %running = icmp eq i64 %flag, 0
  br i1 %running, label %take, label %end
take:
  %number = atomicrmw add ptr %next, i64 1 monotonic
  %more = icmp slt i64 %number, %count
  br i1 %more, label %each, label %end
each:
  %place = getelementptr [2 x ptr], ptr %calls, i64 %number
  %slots_at = getelementptr ptr, ptr %place, i64 1
  %kernel = load ptr, ptr %place
  %slots = load ptr, ptr %slots_at
  call void %kernel(ptr %slots, ptr %stop)
  br label %poll
end:
  ret void
}

define void @call_appending(
  ptr %kernel, ptr %calls, i64 %count, i64 %width, ptr %outputs, i64 %number, ptr %stop
) {
entry:
  br label %take
take:
  %done = phi i64 [ 0, %entry ], [ %next, %advance ]
  %more = icmp slt i64 %done, %count
  br i1 %more, label %each, label %end
each:
  %first = mul i64 %done, %width
  %slots = getelementptr i64, ptr %calls, i64 %first
  call void %kernel(ptr %slots, ptr %stop)
  %flag = load volatile i64, ptr %stop
  %running = icmp eq i64 %flag, 0
  br i1 %running, label %on, label %end
on:
  %next = add i64 %done, 1
  %followed = icmp slt i64 %next, %count
  br i1 %followed, label %advance, label %end
advance:
  %output = phi i64 [ 0, %on ], [ %another, %move ]
  %left = icmp slt i64 %output, %number
  br i1 %left, label %move, label %take
move:
  %entries = mul i64 %output, 3
  %slot_at = getelementptr i64, ptr %outputs, i64 %entries
  %count_at = getelementptr i64, ptr %slot_at, i64 1
  %size_at = getelementptr i64, ptr %slot_at, i64 2
  %slot = load i64, ptr %slot_at
  %counter = load i64, ptr %count_at
  %size = load i64, ptr %size_at
  %here = getelementptr i64, ptr %slots, i64 %slot
  %counted = getelementptr i64, ptr %slots, i64 %counter
  %there = getelementptr i64, ptr %here, i64 %width
  %begun = load i64, ptr %here
  %written = load i64, ptr %counted
  %bytes = mul i64 %written, %size
  %ended = add i64 %begun, %bytes
  %free = load i64, ptr %there
  %after = add i64 %ended, %free
  store i64 %after, ptr %there
  %another = add i64 %output, 1
  br label %advance
end:
  ret void
}
"""

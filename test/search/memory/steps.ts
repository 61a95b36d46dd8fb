/** Objects that links lead to, as far as the caller sees the links and may read the objects. */
import type { LinkStep } from '../../../src/search/plan/field-paths.ts'
import { type MemoryDocument, valuesAt } from './documents.ts'
import type { Asked } from './text.ts'
import { isSeen, mayRead } from './visibility.ts'

export function reached(
  document: MemoryDocument,
  [step, ...further]: readonly LinkStep[],
  asked: Asked,
): readonly MemoryDocument[] {
  if (!step) return [document]
  return targetsOf(document, step, asked).flatMap((each) => (each ? reached(each, further, asked) : []))
}

/** Those that decide an order: by a link the first one, if it is for the caller; back from a link all. */
export function decisive(document: MemoryDocument, step: LinkStep, asked: Asked): readonly MemoryDocument[] {
  const found = targetsOf(document, step, asked)
  return (step.reverse ? found : found.slice(0, 1)).filter((each) => each !== null)
}

function targetsOf(
  document: MemoryDocument,
  { field, reverse }: LinkStep,
  { plan, all }: Asked,
): (MemoryDocument | null)[] {
  if (reverse) {
    return [...all.values()].filter(
      (each) =>
        !each.source.deleted &&
        mayRead(plan.fieldVisibility, each) &&
        isSeen(plan.fieldVisibility.column(field), each) &&
        valuesAt({ document: each, row: null }, field).includes(document.id),
    )
  }
  if (!isSeen(plan.fieldVisibility.column(field), document)) return []
  return valuesAt({ document, row: null }, field).map((id) => {
    const target = all.get(id as number)
    return target && !target.source.deleted && mayRead(plan.fieldVisibility, target) ? target : null
  })
}

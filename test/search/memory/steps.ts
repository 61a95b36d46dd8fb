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

/** Of the first link; null: there is none, or not for the caller. */
export function firstReached(document: MemoryDocument, step: LinkStep, asked: Asked): MemoryDocument | null {
  return targetsOf(document, step, asked)[0] ?? null
}

function targetsOf(document: MemoryDocument, { field }: LinkStep, { plan, all }: Asked): (MemoryDocument | null)[] {
  if (!isSeen(plan.fieldVisibility.column(field), document)) return []
  return valuesAt({ document, row: null }, field).map((id) => {
    const target = all.get(id as number)
    return target && !target.source.deleted && mayRead(plan.fieldVisibility, target) ? target : null
  })
}

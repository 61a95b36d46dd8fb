import type { Progress } from '../../platform/process/progress.ts'
import type { ServiceClient } from '../client.ts'
import { untilRebuilt, untilSearchable } from '../searchable.ts'
import { type CreateOptions, createMissing } from './create.ts'
import { loanObject, termObject } from './mapping.ts'
import { type LoanRecord, readRecords } from './records.ts'
import { inLevels, type Term } from './vocabulary.ts'

type Ids = Map<string | number, number>

/** The options for listing and creating one object type. */
type TypeOptions<T> = Pick<CreateOptions<T>, 'objecttype' | 'listMask' | 'toObject' | 'key' | 'keyColumn'>

export interface RunOptions {
  client: ServiceClient
  batch: number
  connections: number
  progress: Progress
  signal: AbortSignal
}

/** One import: creates the objects, step by step, and counts the results. */
export function createRun(options: RunOptions) {
  const { progress } = options
  const created: Record<string, number> = {}
  const ids: Record<string, Ids> = {}

  /** One step: lists the existing objects, creates the missing ones of `parts`, one part after the other. */
  async function step<T>(
    label: string,
    total: number,
    type: TypeOptions<T>,
    parts: readonly (AsyncIterable<T> | Iterable<T>)[],
  ): Promise<Ids> {
    const target = await createMissing<T>({ ...options, ...type })
    progress.start(label, total)
    progress.advance(Math.min(total, target.ids.size))
    for (const part of parts) await target.add(part)
    progress.stop()
    created[type.objecttype] = target.created()
    ids[type.objecttype] = target.ids
    return target.ids
  }

  return {
    /** Objects of one type; the answer has the system object ids of all of them by key. */
    all: <T>(label: string, total: number, type: TypeOptions<T>, records: AsyncIterable<T> | Iterable<T>) =>
      step(label, total, type, [records]),

    /** Terms of a hierarchy, level by level, so that parents exist before their children. */
    async terms(label: string, objecttype: 'subject' | 'movement', terms: ReadonlyMap<number, Term>) {
      const toObject: TypeOptions<Term>['toObject'] = (term, known) =>
        termObject(
          objecttype,
          term,
          [...term.parents].flatMap((id) => known.get(id) ?? []),
        )
      const type = { objecttype, listMask: objecttype, toObject, key: (term: Term) => term.id, keyColumn: 'tate_id' }
      return (await step(label, terms.size, type, inLevels(terms))) as Map<number, number>
    },

    async loans(file: string): Promise<void> {
      const records: LoanRecord[] = []
      for await (const record of readRecords<LoanRecord>(file)) records.push(record)
      const key = (record: LoanRecord): string => record.loan_number
      const type = { objecttype: 'loan', listMask: 'loan', toObject: loanObject, key, keyColumn: 'loan_number' }
      await step('Loans', records.length, type, [records])
    },

    summary: () => ({ created, total: totalOf(ids) }),

    /** The index follows the saves; the import is done when a search finds everything. */
    untilSearchable: () => untilSearchable(options, Object.keys(ids), totalOf(ids)),

    untilRebuilt: () => untilRebuilt(options),
  }
}

function totalOf(ids: Record<string, Ids>): number {
  return Object.values(ids).reduce((sum, map) => sum + map.size, 0)
}

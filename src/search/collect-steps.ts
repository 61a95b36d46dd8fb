/** Follows links from hits to other objects, as far as the caller sees the links and may read the objects. */
import { AppError } from '../platform/errors.ts'
import { among, type CollectContext, readStored, whoShows } from './collect-stored.ts'
import type { LinkStep } from './plan/field-paths.ts'

/** The reached objects by hit, in the order of the links. The same object may occur several times. */
export type Reached = ReadonlyMap<number, readonly number[]>

/** The highest number of objects that the hits of a page reach by one name. */
const mostReached = 20_000

export const stepsKey = (steps: readonly LinkStep[]): string =>
  steps.map(({ field, reverse }) => `${reverse ? '<' : '>'}${field.code}`).join(' ')

/** Follows the steps of several names. Steps that several names share are followed once. */
export function createSteps(context: CollectContext) {
  const known = new Map<string, Promise<Reached>>()
  return function follow(steps: readonly LinkStep[], ids: readonly number[]): Promise<Reached> {
    const key = stepsKey(steps)
    const before = known.get(key)
    if (before) return before
    const last = steps.at(-1)
    const found = last
      ? follow(steps.slice(0, -1), ids).then((reached) => next(reached, last, context))
      : Promise.resolve(new Map(ids.map((id) => [id, [id]])))
    known.set(key, found)
    return found
  }
}

async function next(reached: Reached, step: LinkStep, context: CollectContext): Promise<Reached> {
  const sources = [...new Set([...reached.values()].flat())]
  const links = await (step.reverse ? linksTo(sources, step, context) : linksFrom(sources, step, context))
  const targets = [...new Set([...links.values()].flat())]
  if (targets.length > mostReached) throw tooMany()
  const readable = await among(targets, { is: 'all' }, context, { objecttypes: [step.target.id], deleted: false })
  let count = 0
  const result = new Map<number, readonly number[]>()
  for (const [id, own] of reached) {
    const leads = own.flatMap((source) => (links.get(source) ?? []).filter((target) => readable.has(target)))
    count += leads.length
    if (count > mostReached) throw tooMany()
    result.set(id, leads)
  }
  return result
}

async function linksFrom(ids: readonly number[], { field }: LinkStep, context: CollectContext): Promise<Reached> {
  if (ids.length === 0) return new Map()
  const [stored, visible] = await Promise.all([readStored([field], ids, context), whoShows([field], ids, context)])
  const shown = visible.get(field)
  return new Map(ids.map((id) => [id, shown?.has(id) ? ((stored.get(id)?.values[0] ?? []) as number[]) : []]))
}

/** The objects that link to the given ones, where the caller sees the link. */
async function linksTo(ids: readonly number[], { field }: LinkStep, context: CollectContext): Promise<Reached> {
  const { rows } = await context.q.query<{ to: number; from: number }>(
    `select to_id as to, from_id as from from object_link where to_id = any($1::bigint[]) and column_id = $2
     order by to_id, from_id limit $3`,
    [ids, field.column.id, mostReached + 1],
  )
  if (rows.length > mostReached) throw tooMany()
  const visible = await whoShows([field], [...new Set(rows.map(({ from }) => from))], context)
  const shown = rows.filter(({ from }) => visible.get(field)?.has(from))
  const byTarget = Map.groupBy(shown, ({ to }) => to)
  return new Map([...byTarget].map(([to, links]) => [to, links.map(({ from }) => from)]))
}

function tooMany(): AppError {
  return new AppError('AnswerTooLarge', { name: 'fields', most: mostReached })
}

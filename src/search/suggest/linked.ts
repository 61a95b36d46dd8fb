/** Suggests objects to filter by: objects that match the typed text, and on request only such that other objects link to. */
import type { Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { noDeadlineFor, outsideDeadlines, shorter } from '../../platform/limits/deadline.ts'
import { createYielder, yieldIfDue } from '../../platform/process/cooperative-yield.ts'
import type { SearchOutcome, SearchPlan } from '../plan/plan.ts'
import type { SearchRequest } from '../schema.ts'
import { counting, type SuggestContext, textElement, typesOf } from './context.ts'
import { searchVariants } from './patterns.ts'

/** Milliseconds of the database for a count that goes on. */
const longestCount = 30_000
/** Callers with such a count: one for each, so that nobody begins more of them by asking again and again. */
const goingOn = new Set<string>()

/** System object ids, the best matches first. */
export async function suggestLinked(context: SuggestContext): Promise<readonly number[]> {
  const { request, model, time } = context
  const targets = typesOf(request.linked_objecttypes ?? [], 'linked_objecttypes', model)
  const by = typesOf(
    request.linked_objects_referenced_by_objecttypes ?? [],
    'linked_objects_referenced_by_objecttypes',
    model,
  )
  if (targets.length === 0) return []
  const found = await time.within(async () => {
    const among = by.length === 0 ? null : await referenced(targets, namesOfTypes(by), context)
    return among?.size === 0 ? [] : fitting(namesOfTypes(targets), among, context)
  })
  return found ?? []
}

const namesOfTypes = (types: readonly Table[]): string[] => types.map(({ name }) => name)

/** `among`: null for all. */
async function fitting(
  objecttypes: string[],
  among: ReadonlySet<number> | null,
  { request, engine, compile, limit, time }: SuggestContext,
): Promise<readonly number[]> {
  for (const looked of searchVariants(request)) {
    const search = looked.map(({ string, mode, phrase }) => ({
      ...textElement(string, ['_fulltext'], request, mode),
      ...(phrase ? { phrase } : {}),
    }))
    try {
      const { plan } = await compile({ objecttypes, search, limit } as SearchRequest)
      return await engine.best(plan, among, time.deadline)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'WildcardExpandedToTooManyTerms') throw error
    }
  }
  return []
}

/**
 * The objects that an object of the types links to, directly or through an object below them, as far as the caller sees the links:
 * what their facets count, which is in memory mostly.
 */
async function referenced(
  targets: readonly Table[],
  objecttypes: string[],
  context: SuggestContext,
): Promise<ReadonlySet<number>> {
  const { plan } = await context.compile({ objecttypes, search: [] })
  const wanted = new Set(targets.map(({ id }) => id))
  const searched = (plan.scope.objecttypes ?? []).flatMap((id) => plan.fields.types.get(id)?.all ?? [])
  const links = searched.filter(({ kind, column }) => kind === 'link' && column.target && wanted.has(column.target.id))
  const aggregations = links.map(
    (field) => ({ kind: 'facet', name: field.name, field: { kind: 'field', field } }) as const,
  )
  const ids = new Set<number>()
  if (aggregations.length === 0) return ids
  const outcome = await counted({ ...counting(plan), aggregations }, context)
  const yielder = createYielder()
  for (const facet of outcome?.facets.values() ?? []) {
    for (const [index, count] of facet.counts.entries()) {
      if (count > 0) ids.add(facet.value(index) as number)
      if (index % 4096 === 0) await yieldIfDue(yielder)
    }
  }
  return ids
}

/** Later requests need the counts too, so they are counted to the end where this one has no time for them. */
async function counted(plan: SearchPlan, { engine, time }: SuggestContext): Promise<SearchOutcome | null> {
  const { who } = time.deadline
  if (goingOn.has(who)) return time.within(() => engine.search(plan, time.deadline))
  goingOn.add(who)
  const deadline = shorter(noDeadlineFor(who), longestCount)
  return time.wait(outsideDeadlines(() => engine.search(plan, deadline)).finally(() => goingOn.delete(who)))
}

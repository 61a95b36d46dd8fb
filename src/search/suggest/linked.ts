/** Suggests objects to filter by: objects that match the typed text, and on request only such that other objects link to. */
import { AppError } from '../../platform/errors.ts'
import { fieldsOf } from '../plan/fields.ts'
import type { Clause, SearchPlan } from '../plan/plan.ts'
import type { SearchRequest } from '../schema.ts'
import { counting, type SuggestContext, textElement, typesOf, withWhere } from './context.ts'
import { searchVariants } from './patterns.ts'

/** The number of matching objects among which linked ones are looked for. */
const mostFitting = 1000
/** Placeholder for the id of an object. Nothing else in a search without words contains it. */
const placeholder = '\u{10600}'

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
    const ids = await fitting(
      targets.map(({ name }) => name),
      by.length === 0 ? context.limit : mostFitting,
      context,
    )
    return by.length === 0
      ? ids
      : referenced(
          ids,
          new Set(targets.map(({ id }) => id)),
          by.map(({ name }) => name),
          context,
        )
  })
  return found ?? []
}

async function fitting(
  objecttypes: string[],
  limit: number,
  { request, engine, compile, time }: SuggestContext,
): Promise<readonly number[]> {
  for (const looked of searchVariants(request)) {
    const search = looked.map(({ string, mode, phrase }) => ({
      ...textElement(string, ['_fulltext'], request, mode),
      ...(phrase ? { phrase } : {}),
    }))
    try {
      const { plan } = await compile({ objecttypes, search, limit } as SearchRequest)
      return (await engine.page(plan, time.deadline)).map(({ id }) => id)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'WildcardExpandedToTooManyTerms') throw error
    }
  }
  return []
}

/**
 * The objects that an object of the types links to, directly or through an object below them, as far as the caller sees the links.
 */
async function referenced(
  ids: readonly number[],
  targets: ReadonlySet<number>,
  objecttypes: string[],
  { engine, compile, model, limit, time }: SuggestContext,
): Promise<readonly number[]> {
  const { types } = fieldsOf(model)
  const { plan } = await compile({ objecttypes, search: [] })
  const searched = plan.scope.objecttypes ?? []
  const links = searched
    .flatMap((id) => types.get(id)?.all ?? [])
    .filter(({ kind, column }) => kind === 'link' && column.target && targets.has(column.target.id))
  if (links.length === 0 || ids.length === 0) return []
  const of = links.map((field): Clause => ({ is: 'value', field, languages: null, values: [placeholder], below: true }))
  const asked: SearchPlan = counting(withWhere(plan, { is: 'or', of }))
  const source = { is: 'listed', terms: ids.map(String) } as const
  const { terms, timedOut } = await engine.terms(
    asked,
    { placeholder, source, most: limit, within: time.left() },
    time.deadline,
  )
  if (timedOut) time.end()
  return terms.map(({ term }) => Number(term))
}

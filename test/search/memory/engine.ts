/** Plans, carried out in the plainest way: every document is looked at. */
import type { Queryable } from '../../../src/platform/postgres/db.ts'
import type { Hit, SearchEngine, SearchOutcome, SearchPlan } from '../../../src/search/plan/plan.ts'
import { changesOf } from './changes.ts'
import type { MemoryDocument } from './documents.ts'
import { countFacet } from './facets.ts'
import { assertFewWords, isInScope, matches } from './match.ts'
import { carried, comparison, isSortValue, scoreOf, shown, sortValues } from './order.ts'
import type { Held } from './target.ts'
import type { Asked } from './text.ts'

export function createMemoryEngine(held: Held, db: Queryable): SearchEngine {
  function found(plan: SearchPlan, asked: Asked): MemoryDocument[] {
    const all = [...held.documents.values()]
    assertFewWords(plan.scope.where, all, asked)
    return all.filter((document) => isInScope(plan.scope, document, asked))
  }

  function pageOf(plan: SearchPlan, documents: readonly MemoryDocument[], asked: Asked): Hit[] {
    const compare = comparison(plan)
    const after = plan.after && carried(plan.after, asked)
    const scored = plan.sort.some(({ field }) => field.by === 'score')
    return documents
      .map((document) => ({ document, values: sortValues(document, asked) }))
      .filter(({ values }) => after === null || compare(values, after) > 0)
      .sort((a, b) => compare(a.values, b.values))
      .slice(plan.offset, plan.offset + plan.limit)
      .map(({ document, values }) => ({
        id: document.id,
        score: scored ? scoreOf(document, asked) : null,
        sort: shown(values),
      }))
  }

  return {
    isSortValue,
    momentSql: null,
    async search(plan, deadline): Promise<SearchOutcome> {
      deadline.check()
      const asked = { plan, all: held.documents }
      const documents = found(plan, asked)
      const outcome = {
        count: documents.length,
        hits: pageOf(plan, documents, asked),
        facets: new Map<string, ReturnType<typeof countFacet>>(),
        ranges: new Map<string, number[]>(),
      }
      for (const each of plan.aggregations) {
        if (each.kind === 'facet') outcome.facets.set(each.name, countFacet(each.field, documents, asked))
        else
          outcome.ranges.set(
            each.name,
            each.clauses.map(
              (clause) => documents.filter((document) => matches(clause, { document, row: null }, asked)).length,
            ),
          )
      }
      return outcome
    },
    async page(plan, deadline) {
      deadline.check()
      const asked = { plan, all: held.documents }
      return pageOf(plan, found(plan, asked), asked)
    },
    async best() {
      throw new Error('this engine knows no best hits among others')
    },
    async some() {
      throw new Error('this engine knows no hits without an order')
    },
    async measure() {
      throw new Error('this engine measures nothing')
    },
    async shows() {
      throw new Error('this engine shows nothing')
    },
    async terms() {
      throw new Error('this engine knows no terms')
    },
    async counts() {
      throw new Error('this engine counts no terms')
    },
    async countEach() {
      throw new Error('this engine counts no conditions')
    },
    async collect(plan, { id, most, partLength }, deadline) {
      deadline.check()
      const asked = { plan, all: held.documents }
      const documents = found(plan, asked)
      if (documents.length > most) return null
      const hits = pageOf({ ...plan, after: null, offset: 0, limit: most }, documents, asked)
      await db.query(
        `insert into search_point_part (point_id, part, ids)
         select $1, (n - 1) / $3::int, array_agg(id order by n) from unnest($2::bigint[]) with ordinality u(id, n) group by 2`,
        [id, hits.map((hit) => hit.id), partLength],
      )
      return hits.length
    },
    async changes(plan, window, deadline) {
      deadline.check()
      return changesOf(window, { plan, all: held.documents }, held.former, held.changedAt)
    },
  }
}

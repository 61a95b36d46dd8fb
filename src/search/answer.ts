import type { Table } from '../datamodel/model.ts'
import { appliedMergeDepth } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { type JsonAnswer, type JsonBody, JsonWriter, writeJson } from '../platform/http/json-answer.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import { createYielder, type Yielder } from '../platform/process/cooperative-yield.ts'
import type { CallerRights } from '../rights/service.ts'
import { type AggregationDeps, answerAggregations } from './aggregations.ts'
import { type CollectedFields, collectFields } from './collect.ts'
import { type Highlights, highlightHits } from './highlight/service.ts'
import type { HitOptions } from './hits.ts'
import type { Hit, SearchEngine, SearchOutcome, SearchPlan } from './plan/plan.ts'
import type { ShownPoint } from './points/service.ts'
import type { CompiledSearch } from './request/compile.ts'
import type { SearchResponse } from './schema.ts'

interface AnswerDeps extends AggregationDeps {
  readonly engine: SearchEngine
}

/** Answers a search with the objects found: rendered, with collected fields, highlights and aggregations. */
export async function answerOf(
  deps: AnswerDeps,
  { actor, caller }: { readonly actor: Actor; readonly caller: CallerRights },
  options: HitOptions,
  { plan, objecttypes, aggregations, fields, languages, highlight }: CompiledSearch,
  outcome: SearchOutcome,
  deadline: Deadline,
  point?: ShownPoint,
): Promise<JsonAnswer> {
  const yielder = createYielder(() => deadline.check())
  const ids = outcome.hits.map((hit) => hit.id)
  const { db, engine, databaseName, withAncestors } = deps
  const q = db.within(deadline)
  const inOrder = preferred(plan, languages)
  const collected = await collectFields(fields, ids, {
    engine,
    q,
    deadline,
    actor,
    plan,
    languages: inOrder,
    databaseName,
    withAncestors,
  })
  const highlights = highlight ? await highlightHits(ids, { engine, q, plan, deadline, yielder }) : null
  const [hits, answers] = await Promise.all([
    deps.renderHits(
      actor,
      ids,
      { ...options, languages: languages.length === 0 ? null : languages },
      { additions: hitAdditions(outcome.hits, collected, highlights), deadline },
    ),
    answerAggregations(
      {
        deps,
        actor,
        caller,
        plan,
        languages: inOrder,
        q,
        deadline,
        yielder,
      },
      aggregations,
      outcome,
    ),
  ])
  const response: Omit<SearchResponse, 'objects'> = {
    type: '',
    objecttypes: objecttypes.map((table: Table) => table.name),
    language: inOrder[0] ?? '',
    count: outcome.count,
    offset: plan.offset,
    limit: plan.limit,
    format: options.format,
    merge_linked_objects: options.mergeLinkedObjects ?? 'none',
    merge_max_depth: appliedMergeDepth(options.mergeLinkedObjects, options.mergeMaxDepth),
    ...(aggregations.length > 0 ? { aggregations: answers } : {}),
    ...(point ? { point_in_time: point } : {}),
  }
  return { body: await written(response, hits.body, yielder), short: hits.short }
}

/** Database languages: the languages of the request come first. */
function preferred(plan: SearchPlan, languages: readonly string[]): readonly string[] {
  const wanted = languages.filter((language) => plan.languages.includes(language))
  return [...wanted, ...plan.languages.filter((language) => !wanted.includes(language))]
}

function hitAdditions(
  hits: readonly Hit[],
  collected: ReadonlyMap<number, CollectedFields>,
  highlights: ReadonlyMap<number, Highlights> | null,
) {
  const byId = new Map(hits.map((hit) => [hit.id, hit]))
  return (systemObjectId: number): Readonly<Record<string, unknown>> => {
    const { score = null, sort } = byId.get(systemObjectId) ?? {}
    const fields = collected.get(systemObjectId)
    return {
      ...(score === null ? {} : { _score: score }),
      _sort: sort,
      ...(fields === undefined ? {} : { _fields: fields }),
      ...(highlights ? { _highlight: highlights.get(systemObjectId) ?? {} } : {}),
    }
  }
}

/** Writes the response with the objects, which are JSON already, at its end. */
async function written(
  response: Omit<SearchResponse, 'objects'>,
  objects: JsonBody,
  yielder: Yielder,
): Promise<JsonBody> {
  const writer = new JsonWriter()
  let separator = '{'
  for (const [key, value] of Object.entries(response)) {
    writer.add(`${separator}"${key}":`)
    await writeJson(writer, value, yielder)
    separator = ','
  }
  writer.add(',"objects":')
  writer.addBody(objects)
  writer.add('}')
  return writer.end()
}

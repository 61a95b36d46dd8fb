/**
 * Suggestions while a user types: words and values that complete the text, and objects to filter by. All suggestions come from
 * searches with the rights of the caller, so data that the caller may not see is neither suggested nor counted.
 */
import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { type JsonAnswer, JsonWriter } from '../../platform/http/json-answer.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { RequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { SearchEngine } from '../plan/plan.ts'
import type { CompiledSearch } from '../request/compile.ts'
import { ignoredIn, notKnown } from '../request/known.ts'
import type { SearchRequest } from '../schema.ts'
import { assertFields, namesOf, type SuggestContext, searchFor, textElement, timeOf, typesOf } from './context.ts'
import { suggestLinked } from './linked.ts'
import { SuggestRequest } from './schema.ts'
import { suggestTokens } from './tokens.ts'
import { suggestValues, type ValueContext } from './values.ts'

/** Milliseconds, if the request has no time limit. */
const usualTime = 1000
/** Requests with a longer limit wait for a place among the heavy ones. */
const longestQuick = 2000
const usualLimit = 10

const known: ReadonlySet<string> = new Set(Object.keys(SuggestRequest.properties))

export interface SuggestDeps {
  readonly engine: SearchEngine
  readonly datamodel: { current(): Model }
  readonly languages: () => readonly string[]
  readonly heavyRequests: RequestLimiter
  /** The actor of callers without a token. `null`: guests are not allowed. */
  readonly guest: () => Promise<Actor | null>
  /** Refuses callers while searches are blocked, then compiles their searches for one moment. */
  readonly compilerFor: (actor: Actor) => Promise<(request: SearchRequest) => Promise<CompiledSearch>>
  readonly q: ValueContext['q']
  /** Renders objects in the default form of searches. */
  readonly render: (actor: Actor, ids: readonly number[], deadline: Deadline) => Promise<JsonAnswer>
}

export interface SuggestOptions {
  readonly deadline: Deadline
  readonly strict: boolean
}

export function createSuggest(deps: SuggestDeps) {
  async function answer(actor: Actor, request: SuggestRequest, deadline: Deadline): Promise<JsonAnswer> {
    const begun = performance.now()
    const { engine, languages } = deps
    const model = deps.datamodel.current()
    const time = timeOf(deadline, request.timeout || usualTime, () => performance.now())
    const compile = await deps.compilerFor(actor)
    await assertKnown(request, model, compile)
    const context: SuggestContext = { actor, request, limit: request.limit || usualLimit, model, engine, compile, time }
    const wantsValues = request.fields_suggest === true && (request.fields ?? []).length > 0
    const [tokens, fields, ids] = await Promise.all([
      request.tokens === false ? undefined : suggestTokens(context),
      wantsValues ? suggestValues({ ...context, languages: languages(), q: deps.q }) : undefined,
      request.linked_objecttypes === undefined ? undefined : suggestLinked(context),
    ])
    const objects = ids && (await deps.render(actor, ids, deadline))
    const took = Math.round(performance.now() - begun)
    const writer = new JsonWriter()
    writer.add(`{"es_time":${took},"timed_out":${time.timedOut},"suggestions":{`)
    const lists = Object.entries({ tokens, fields }).filter(([, list]) => list !== undefined)
    writer.add(lists.map(([name, list]) => `"${name}":${JSON.stringify(list)}`).join(','))
    if (objects) {
      writer.add(`${lists.length > 0 ? ',' : ''}"linked_objects":`)
      writer.addBody(objects.body)
    }
    writer.add('}}')
    return { body: writer.end(), short: objects?.short ?? 0 }
  }

  return {
    /**
     * The answer is a `SuggestResponse`.
     * @throws {AppError} `UserRequired` for a caller without a token where guests are not allowed.
     */
    async suggest(
      caller: Actor | null,
      request: SuggestRequest,
      { deadline, strict }: SuggestOptions,
    ): Promise<JsonAnswer & { readonly ignored: readonly string[] }> {
      const actor = caller ?? (await deps.guest())
      if (!actor) throw new AppError('UserRequired')
      const ignored = ignoredIn(request, known)
      if (strict && ignored[0] !== undefined) throw notKnown(ignored[0])
      const work = () => answer(actor, request, deadline)
      const found = await ((request.timeout ?? 0) > longestQuick ? deps.heavyRequests.run(deadline, work) : work())
      return { ...found, ignored }
    },
  }
}

/** @throws {AppError} for unknown types and fields, and for fields without words, whatever kinds of suggestions are requested. */
async function assertKnown(request: SuggestRequest, model: Model, compile: SuggestContext['compile']): Promise<void> {
  assertFields(request, model)
  typesOf(request.linked_objecttypes ?? [], 'linked_objecttypes', model)
  const by = 'linked_objects_referenced_by_objecttypes'
  typesOf(request[by] ?? [], by, model)
  await compile(searchFor(request, [textElement('', namesOf(request), request)]))
}

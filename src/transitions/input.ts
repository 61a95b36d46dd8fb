import { isDeepStrictEqual } from 'node:util'
import { type EventType, eventTypes } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import { assertVersion, type VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest, missingSystemRight } from '../platform/errors.ts'
import { type Checker, createChecker } from '../platform/values/checker.ts'
import { assertStorable } from '../platform/values/text.ts'
import { type Person, type Principal, parseWho, type WhoDraft } from '../rights/service.ts'
import { readTagFilter, type TagFilterInput } from '../tags/service.ts'
import { type Action, type Transition, type TransitionSettings, verdictOf } from './model.ts'
import { EmailInfo, SetTagsInfo, type TransitionBody, TransitionList } from './schema.ts'

/** References that must be looked up before a list can be read. */
export interface ReferenceLookup {
  readonly who: WhoDraft[]
  readonly tagIds: Set<number>
}

/** The results of the look-up: principals in the requested order, and existence of the others. */
export interface ResolvedReferences {
  readonly who: readonly Principal[]
  readonly tags: { has(id: number): boolean }
  readonly objecttypes: { has(id: number): boolean }
  readonly webhooks: { has(name: string): boolean }
  /** Callbacks of plugins that are on, as `<plugin>:<callback>`. */
  readonly callbacks: { has(name: string): boolean }
}

/** A list whose shape is valid, with its references. */
export interface Draft {
  readonly bodies: readonly TransitionBody[]
  readonly wanted: ReferenceLookup
  readonly path: string
}

const checkList = createChecker(TransitionList)
const checkSetTags = createChecker(SetTagsInfo)
const checkEmail = createChecker(EmailInfo)

/**
 * Checks the shape of a list as sent and collects its references. `path` is used in errors.
 * @throws {AppError} `ServerGeneric` with the place and the reason
 */
export function parseList(wire: unknown, path: string): Draft {
  const bodies = checked(checkList, wire ?? [], path)
  assertStorable(bodies, path)
  const ids = new Set<number>()
  const wanted: ReferenceLookup = { who: [], tagIds: new Set() }
  bodies.forEach((body, index) => {
    const place = `${path}[${index}]`
    if (body._id && ids.has(body._id)) throw badRequest(`${place}._id occurs twice`, { path: `${place}._id` })
    if (body._id) ids.add(body._id)
    collect(body, place, wanted)
  })
  return { bodies, wanted, path }
}

function checked<T>(checker: Checker<T>, value: unknown, path: string): T {
  if (checker.check(value)) return value
  const error = checker.misfit(value)
  const place = `${path}${(error?.instancePath ?? '').replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.')}`
  throw badRequest(`${place} ${error?.message ?? 'is wrong'}`, { path: place })
}

function collect(body: TransitionBody, place: string, wanted: ReferenceLookup): void {
  for (const filter of [body['tagfilter:before'], body['tagfilter:after']]) {
    for (const slot of ['all', 'any', 'not', 'changed'] as const) {
      for (const id of filter?.[slot] ?? []) wanted.tagIds.add(id)
    }
  }
  body.who?.forEach((who, index) => {
    wanted.who.push(parseWho(who, `${place}.who[${index}]`, ['owner', 'contact']))
  })
  body.actions?.forEach((action, index) => {
    collectAction(action, `${place}.actions[${index}]`, wanted)
  })
}

/** A callback of a plugin: `<plugin>:<callback>`. */
const pluginAction = /^[a-z][a-z0-9_-]*:./

function unknownAction(type: string, place: string): AppError {
  return badRequest(`${place}.type is no known action, and no callback of a plugin that is on`, {
    path: `${place}.type`,
    value: type,
  })
}

type ActionBody = NonNullable<TransitionBody['actions']>[number]

function collectAction({ type, info }: ActionBody, place: string, wanted: ReferenceLookup): void {
  switch (type) {
    case 'set_tags':
      for (const tag of checked(checkSetTags, info, `${place}.info`).tags) wanted.tagIds.add(tag._id)
      return
    case 'change_owner':
      if (!info.owner) throw new AppError('ChangeOwnerNotSelected', { path: `${place}.info.owner` })
      wanted.who.push(parseWho(info.owner, `${place}.info.owner`))
      return
    case 'email':
      checked(checkEmail, info, `${place}.info`).recipients.forEach((who, index) => {
        wanted.who.push(parseWho(who, `${place}.info.recipients[${index}]`, ['owner', 'contact']))
      })
      return
    case 'webhook':
      return
    default:
      if (!pluginAction.test(type)) throw unknownAction(type, place)
  }
}

/** A transition as it is to be stored; id 0: new. */
export interface ReadTransition {
  readonly transition: Transition
  readonly change: 'insert' | 'update' | 'none'
}

/**
 * Reads a list whose references were found, and compares it with the stored list. Entries with `_id` must be in it. New or changed
 * entries are `setBy` the sender.
 * @throws {AppError} `VersionMismatch`, `TagNotFound`, `WebhookNotSelected`, `WebhookUnknown`,
 * `WebhookCallbackUnknown`, `ServerGeneric`
 */
export function readList(
  draft: Draft,
  found: ResolvedReferences,
  stored: readonly Transition[],
  { convention, setter }: { readonly convention: VersionConvention; readonly setter: Pick<Actor, 'userId' | 'isRoot'> },
): ReadTransition[] {
  const storedById = new Map(stored.map((transition) => [transition.id, transition]))
  const who = found.who.values()
  const next = (): Principal => {
    const { value } = who.next()
    if (value === undefined) throw new Error('principals do not fit the list')
    return value
  }
  return draft.bodies.map((body, index) => {
    const place = `${draft.path}[${index}]`
    const before = body._id ? storedById.get(body._id) : undefined
    if (body._id && !before) throw badRequest(`${place}: there is no transition ${body._id}`, { path: `${place}._id` })
    if (before && body._version) assertVersion(body._version, before.version, convention, { path: place })
    const settings = readSettings(body, place, found, next, before)
    const setBy = setter.userId
    if (!before) {
      assertMayAsk(settings, setter, place)
      return { transition: { ...settings, id: 0, version: 1, setBy }, change: 'insert' }
    }
    const { id, version, setBy: _, ...previous } = before
    if (isDeepStrictEqual(settings, previous)) return { transition: before, change: 'none' }
    assertMayAsk(settings, setter, place)
    return { transition: { ...settings, id, version: version + 1, setBy }, change: 'update' }
  })
}

/**
 * A receiver that is asked before the write gets all data of the objects, whoever saves them, and can change them. Only root may
 * allow that.
 */
function assertMayAsk({ actions }: TransitionSettings, { isRoot }: Pick<Actor, 'isRoot'>, place: string): void {
  const index = actions.findIndex((action) => action.type === 'webhook' && action.preSave)
  if (index === -1 || isRoot) return
  throw missingSystemRight('system.root', { path: `${place}.actions[${index}].info.callback` })
}

function readSettings(
  body: TransitionBody,
  place: string,
  found: ResolvedReferences,
  next: () => Principal,
  before: Transition | undefined,
): TransitionSettings {
  const filter = (side: 'before' | 'after') => {
    const name = `tagfilter:${side}` as const
    return readTagFilter(body[name] as TagFilterInput | null, found.tags, `${place}.${name}`, {
      changed: body.trigger !== 'event',
    })
  }
  const settings: TransitionSettings = {
    type: body.type,
    trigger: body.trigger ?? 'automatic',
    operations: [...new Set(body.operations ?? [])],
    eventTypes: [...new Set(body.event_types ?? [])],
    displayname: body.displayname ?? {},
    comment: body.comment ?? '',
    confirm: nonEmpty(body.confirm ?? {}),
    sticky: body.sticky ?? false,
    who: (body.who ?? []).map(next),
    whoNot: body.who_not ?? false,
    objecttypeIds: [...new Set(body.objecttype_ids ?? [])],
    before: filter('before'),
    after: filter('after'),
    actions: (body.actions ?? []).map((action, index) =>
      readAction(action, `${place}.actions[${index}]`, found, next, before),
    ),
  }
  assertConsistent(settings, place)
  for (const id of settings.objecttypeIds) {
    if (found.objecttypes.has(id) || before?.objecttypeIds.includes(id)) continue
    throw badRequest(`${place}.objecttype_ids: there is no object type ${id}`, { path: `${place}.objecttype_ids`, id })
  }
  return settings
}

function assertConsistent({ trigger, type, eventTypes: types, confirm }: TransitionSettings, place: string): void {
  if (trigger !== 'automatic' && verdictOf(type) === 'reject') {
    throw badRequest(`${place}: only automatic transitions can reject`, { path: `${place}.type` })
  }
  if (trigger === 'event' && types.length === 0) {
    throw badRequest(`${place}.event_types is needed for the trigger event`, { path: `${place}.event_types` })
  }
  if (trigger !== 'event' && types.length > 0) {
    throw badRequest(`${place}.event_types is for the trigger event only`, { path: `${place}.event_types` })
  }
  if (trigger === 'event' && Object.keys(confirm).length > 0) {
    throw badRequest(`${place}.confirm: nobody is there to be asked`, { path: `${place}.confirm` })
  }
  const unknown = types.find((name) => !Object.hasOwn(eventTypes, name as EventType))
  if (unknown) throw new AppError('EventTypeNotAllowed', { path: `${place}.event_types`, type: unknown })
}

function readAction(
  { type, info }: ActionBody,
  place: string,
  found: ResolvedReferences,
  next: () => Principal,
  before: Transition | undefined,
): Action {
  switch (type) {
    case 'set_tags':
      return { type, tags: readTags(checked(checkSetTags, info, `${place}.info`).tags, `${place}.info.tags`, found) }
    case 'change_owner':
      // Owner and pool contact are not accepted here, so the principal is a user or group.
      return { type, owner: next() as Person }
    case 'email': {
      const email = checked(checkEmail, info, `${place}.info`)
      return {
        type,
        subject: email.subject ?? {},
        message: email.message ?? {},
        batchable: email.batchable ?? false,
        recipients: email.recipients.map(next),
      }
    }
    case 'webhook':
      return readWebhook(info, place, found)
    default:
      return readPluginAction(type, info, place, found, before)
  }
}

function readTags(tags: readonly { _id: number; set: boolean }[], place: string, found: ResolvedReferences) {
  return tags.map(({ _id, set }, index) => {
    if (!found.tags.has(_id)) throw new AppError('TagNotFound', { path: `${place}[${index}]`, tag: _id })
    if (tags.findIndex((other) => other._id === _id) !== index) {
      throw badRequest(`${place} names the tag ${_id} twice`, { path: `${place}[${index}]`, tag: _id })
    }
    return { id: _id, set }
  })
}

/** An action that is stored already stays while its plugin is off; then it refuses changes. */
function readPluginAction(
  type: string,
  info: Readonly<Record<string, unknown>>,
  place: string,
  found: ResolvedReferences,
  before: Transition | undefined,
): Action {
  const colon = type.indexOf(':')
  const [plugin, callback] = [type.slice(0, colon), type.slice(colon + 1)]
  const known = before?.actions.some(
    (action) => action.type === 'plugin' && action.plugin === plugin && action.callback === callback,
  )
  if (!known && !found.callbacks.has(type)) throw unknownAction(type, place)
  return { type: 'plugin', plugin, callback, info }
}

/** Webhooks are called after the commit, or asked before the write. */
function readWebhook(info: Readonly<Record<string, unknown>>, place: string, found: ResolvedReferences): Action {
  const { name, callback } = info
  if (typeof name !== 'string' || name === '') throw new AppError('WebhookNotSelected', { path: `${place}.info.name` })
  if (!found.webhooks.has(name)) throw new AppError('WebhookUnknown', { path: `${place}.info.name`, name })
  if (callback === 'pre_save') return { type: 'webhook', name, preSave: true }
  if (callback !== undefined && callback !== 'after_commit_async') {
    throw new AppError('WebhookCallbackUnknown', { path: `${place}.info.callback`, callback })
  }
  return { type: 'webhook', name }
}

function nonEmpty(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}

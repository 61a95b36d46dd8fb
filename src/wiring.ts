/** Adapters between capabilities that cannot import each other: what an earlier one asks of later ones. */
import type { RemovalHooks, RightsHooks } from './auth/service.ts'
import type { DatamodelService, ObjecttypeParts, ObjecttypeService } from './datamodel/service.ts'
import type { MessageService } from './messages/service.ts'
import type { ReadService } from './objects/read/read.ts'
import { countInPools, groupsOfObjects, replaceOwner, requeuePools } from './objects/upkeep/uses.ts'
import type { Actor } from './platform/actor.ts'
import type { JsonAnswer } from './platform/json-body.ts'
import type { PoolOptions, PoolService, PoolTagLayer } from './pools/service.ts'
import { type Person, parseSystemRights, type RightsService, type StoredGrant } from './rights/service.ts'
import { effectiveTags, renderTag, type TagService } from './tags/service.ts'
import type { ActionOptions } from './transitions/actions.ts'
import type { Transition, TransitionLayer, TransitionService, TransitionServiceOptions } from './transitions/service.ts'

interface PoolPartners {
  tags: () => TagService
  transitions: () => TransitionService
  wakeIndex: () => void
}

/** What pools ask of tags, transitions and objects; functions, as these are built after pools. */
export function poolParts({ tags, transitions, wakeIndex }: PoolPartners): PoolOptions['parts'] {
  return {
    existingTags: (tx, ids) => tags().existing(tx, ids),
    renderTags: (layers) => renderTagLayers(tags(), layers),
    // Pools keep lists of transitions as the transitions engine gives them.
    changeTransitions: (tx, actor, changes) =>
      transitions().validateLists(
        tx,
        actor,
        changes.map((change) => ({ ...change, previous: change.previous as readonly Transition[] })),
      ),
    renderTransitions: async (from, lists, languages) => {
      const wire = await transitions().renderLists(from, lists as readonly (readonly Transition[])[], languages)
      return wire.map((list) => list.map((transition) => ({ ...transition })))
    },
    countObjects: countInPools,
    requeueObjects: (tx, poolIds) => requeuePools(tx, poolIds, wakeIndex),
  }
}

/** What object types ask of tags and transitions; functions, as these are built after the datamodel. */
export function objecttypeParts({ tags, transitions }: Omit<PoolPartners, 'wakeIndex'>): ObjecttypeParts {
  const { existingTags, changeTransitions, renderTransitions } = poolParts({ tags, transitions, wakeIndex: () => {} })
  return {
    existingTags,
    changeTransitions,
    renderTransitions,
    renderTags(layer, table) {
      const { own, compiled } = renderTagLayers(tags(), [layer])
      const origins = new Set(layer.tags.map((tag) => tag.id))
      const origin = (id: number): string => (origins.has(id) ? `ot:${table.id}:${table.name}` : 'tags')
      return { own, compiled: compiled.map((tag) => ({ ...tag, _origin: origin(tag._id) })) }
    },
  }
}

interface TransitionHolders {
  pools: PoolService
  objecttypes: ObjecttypeService
  datamodel: DatamodelService
}

/** The lists of transitions that pools and object types keep, as the transitions engine gave them. */
export function transitionLayers(from: TransitionHolders): TransitionServiceOptions['layers'] {
  const { pools, objecttypes, datamodel } = from
  const objecttype = (id: number) => objecttypes.transitionLayer(id) as TransitionLayer
  return {
    pools: (id) => pools.transitionLayers(id) as readonly TransitionLayer[],
    objecttype,
    all: () => [
      ...[...pools.snapshot().values()].flatMap((pool) => pool.transitions as unknown as readonly Transition[]),
      ...[...datamodel.current().objecttypes.values()].flatMap((table) => objecttype(table.id).transitions),
    ],
  }
}

/** How mails and webhooks of transitions show objects: as somebody who may see all of them. */
export function objectViews(read: ReadService, actor: () => Promise<Actor>): ActionOptions['objects'] {
  return {
    async describe(ids, languages) {
      const hits = await read.renderHits(await actor(), ids, { format: 'short' })
      return new Map(hitsOf(hits).map((hit) => [hit._system_object_id as number, standardText(hit, languages)]))
    },
    async render(ids) {
      const hits = await read.renderHits(await actor(), ids, { format: 'full', allFields: true })
      return hitsOf(hits)
    },
  }
}

function hitsOf({ body }: JsonAnswer): Record<string, unknown>[] {
  return JSON.parse(Buffer.concat(body).toString())
}

function standardText(hit: Readonly<Record<string, unknown>>, languages: readonly string[]): string {
  const { '1': first } = (hit._standard ?? {}) as { '1'?: { text?: Readonly<Record<string, string>> } }
  const text = first?.text ?? {}
  const language = languages.find((name) => text[name]) ?? Object.keys(text)[0]
  return language === undefined ? '' : (text[language] ?? '')
}

function renderTagLayers(tags: TagService, layers: readonly PoolTagLayer[]) {
  const snapshot = tags.snapshot()
  const compiled = [...effectiveTags(snapshot, layers).values()]
  const own = layers.at(-1)?.tags ?? []
  const render = (id: number, enabled?: boolean, isDefault?: boolean) => {
    const tag = snapshot.get(id)
    if (!tag) return []
    return [{ ...renderTag(tag), enabled: enabled ?? tag.enabled, is_default: isDefault ?? tag.isDefault }]
  }
  return {
    own: own.flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
    compiled: compiled.flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
  }
}

/** What users and groups ask of rights: grants on them and their system rights. */
export function principalRights(rights: () => RightsService): RightsHooks {
  return {
    parseSystemRights,
    validateAcls: (tx, actor, context, changes) =>
      rights().validateAcls(
        tx,
        actor,
        context,
        changes.map((change) => ({ ...change, previous: change.previous as readonly StoredGrant[] | null })),
      ),
    coversGrants: (actor, people) => rights().coversGrants(actor, people as ReadonlySet<Person>),
    groupsOfObjects,
    renderAcls: (from, lists, languages) =>
      rights().renderAcls(from, lists as readonly (readonly StoredGrant[])[], languages),
  }
}

/** What a user or group that goes leaves behind: objects, which go to a system user also from a group, and pools. */
export function ownerRemoval(
  pools: () => PoolService,
  messages: () => MessageService,
  wakeIndex: () => void,
): RemovalHooks {
  return {
    async replaceUser(tx, from, to) {
      await replaceOwner(tx, 'user', from, to, wakeIndex)
      await pools().replacePerson(tx, 'user', from, to)
    },
    async replaceGroup(tx, from, to) {
      await replaceOwner(tx, 'group', from, to, wakeIndex)
      await messages().replaceGroup(tx, from, to)
      await pools().replacePerson(tx, 'group', from, to)
    },
  }
}

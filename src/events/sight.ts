import type { Actor } from '../platform/actor.ts'
import type { StoredEvent } from './store.ts'

/** Which of the things that events are about a caller may see; given by the capabilities that keep them. */
export interface Seen {
  /** With whether the title may be seen, too. */
  objects(actor: Actor, systemObjectIds: readonly number[]): Promise<ReadonlyMap<number, boolean>>
  pools(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>>
  users(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>>
  groups(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>>
  messages(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>>
}

/** How much of an event may be told: nothing, that it was, or all that it says of its subject. */
export type Sight = 'none' | 'subject' | 'all'

/**
 * What the caller may know of the subject of each event. Objects, pools, users and groups are told to those who may see
 * them, messages to those whom they are for, all else (the datamodel, tags, the configuration, the index) to everybody. Purged objects and deleted pools can
 * be seen by nobody but root.
 */
export async function sightOf(
  actor: Actor,
  seen: Seen,
  events: readonly StoredEvent[],
): Promise<(event: StoredEvent) => Sight> {
  if (actor.isRoot) return () => 'all'
  const ids = (basetype: string) => [
    ...new Set(events.flatMap((event) => (event.basetype === basetype ? (event.object_id ?? []) : []))),
  ]
  const objectIds = [...new Set(events.flatMap((event) => event.system_object_id ?? []))]
  const [objects, pools, users, groups, messages] = await Promise.all([
    objectIds.length > 0 ? seen.objects(actor, objectIds) : new Map<number, boolean>(),
    seen.pools(actor, ids('pool')),
    seen.users(actor, ids('user')),
    seen.groups(actor, ids('group')),
    seen.messages(actor, ids('message')),
  ])
  const told: Readonly<Record<string, ReadonlySet<number>>> = {
    pool: pools,
    user: users,
    group: groups,
    message: messages,
  }
  return ({ system_object_id: object, basetype, object_id: id }) => {
    if (object !== null) {
      const titled = objects.get(object)
      if (titled === undefined) return 'none'
      return titled ? 'all' : 'subject'
    }
    const kind = told[basetype ?? '']
    return !kind || (id !== null && kind.has(id)) ? 'all' : 'none'
  }
}

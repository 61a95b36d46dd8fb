import assert from 'node:assert/strict'
import { createEventLog, eventGroups, type NewEvent } from '../../src/events/service.ts'
import type { Actor } from '../../src/platform/actor.ts'
import type { Json } from './client.ts'
import type { TestService } from './service.ts'

/** Root, as one who has signed in: for events whose cause has nobody behind it in a test. */
export const actingRoot: Actor = {
  userId: 1,
  login: 'root',
  displayname: 'Root',
  reference: 'system:root',
  groupIds: [],
  isRoot: true,
  systemRights: new Map(),
  remoteAddr: '192.0.2.1',
  languages: ['en-US'],
  session: null,
}

/**
 * What background work writes carries nobody anyhow, which says nothing of its type: here somebody acts, and all groups are
 * enabled. Whether events of these types are user-logged (UL) then, and pollable (P).
 */
export async function assertEventFlags(
  svc: Pick<TestService, 'as' | 'db'>,
  types: readonly NewEvent['type'][],
  flags: { readonly userLogged: boolean; readonly pollable: boolean },
): Promise<void> {
  const root = svc.as('root')
  const log = createEventLog({ userInEventGroup: () => eventGroups })
  const ids = await log.append(
    svc.db,
    types.map((type) => ({ type, actor: actingRoot })),
  )
  const polled: Json[] = (await root.get(`/event/poll/${Math.min(...ids) - 1}`, { limit: 1000 })).body
  for (const [index, id] of ids.entries()) {
    const { status, body } = await root.get(`/event/${id}`)
    assert.deepEqual(
      [status, body.event.type, body.user?.user._id, body.event.pollable],
      [200, types[index], flags.userLogged ? 1 : undefined, flags.pollable],
    )
    if (!flags.userLogged) assert.equal(body.event.user_generated_displayname, undefined)
    assert.equal(
      polled.some(({ event }) => event._id === id),
      flags.pollable,
      `${types[index]}`,
    )
  }
}

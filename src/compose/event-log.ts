import type { CollectionService } from '../collections/service.ts'
import { createEventJanitor, createEventService, createEventStreams, type Seen } from '../events/service.ts'
import { readableExports } from '../exports/service.ts'
import type { ReadService } from '../objects/read/read.ts'
import { readableTasks } from '../tasks/service.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'

interface Records {
  readonly read: ReadService
  readonly collections: CollectionService
}

/** The log of events as callers may read it, its streams, and its janitor. */
export function composeEventLog(
  { config, db, log }: Given,
  { memory }: Ground,
  { baseConfig, events, eventUsers, keptPlugins, readOnly }: Readers,
  { rights, signIn, users, groups, messages }: People,
  { read, collections }: Records,
  opened: AsyncDisposableStack,
) {
  const eventJanitor = createEventJanitor({
    db,
    events,
    log,
    settings: () => baseConfig.get().janitor,
    paused: readOnly,
  })
  opened.defer(() => eventJanitor.close())
  const { databaseName } = config
  const seen: Seen = {
    objects: read.told,
    pools: async (ids) => async (actor) => {
      const own = await rights.forActor(actor)
      return new Set(ids.filter((id) => own.mayPool('bag_read', id)))
    },
    users: users.readable,
    groups: groups.readable,
    messages: messages.readable,
    collections: collections.readable,
    exports: (ids) => readableExports(db, ids),
    tasks: (ids) => readableTasks(db, ids),
  }
  const eventService = createEventService({
    db,
    log: events,
    databaseName,
    users: eventUsers,
    seen,
    pluginType: keptPlugins.eventType,
    quotas: {
      eventBytes: config.quotaEventBytes,
      events: config.quotaEvents,
      eventStorage: config.quotaEventStorage,
    },
  })
  return {
    events: eventService,
    eventJanitor,
    streams: createEventStreams({
      db,
      log,
      databaseName,
      seen,
      callers: signIn.callers,
      most: Math.floor(config.maxConnections / 2),
      mostOfCaller: config.quotaStreams,
      maxBytes: memory.eventStreams,
      patience: 1000 * config.slowGrace,
    }),
  }
}

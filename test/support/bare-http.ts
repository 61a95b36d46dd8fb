import { pino } from 'pino'
import { createHttp } from '../../src/platform/http/server.ts'
import type { Surface } from '../../src/platform/http/surface.ts'

/** The HTTP layer alone, without a service behind it: for tests that register routes of their own. */
export function bareHttp(elsewhere: Surface) {
  return createHttp({
    log: pino({ level: 'silent' }),
    bodyLimit: 1e6,
    bodyMemory: 3e6,
    requestTimeout: 30,
    maxConnections: 10,
    maxConnectionsOfNetwork: 10,
    mostUntaken: 1e6,
    pace: { grace: 30, leastRate: 1 },
    corsOrigins: [],
    trustedProxies: [],
    timeLimits: { read: 1000, write: 1000 },
    readOnly: () => false,
    standstill: { word: null, enter() {} },
    timings: () => false,
    foreground: { enter() {} },
    elsewhere,
    aliases: {},
  })
}

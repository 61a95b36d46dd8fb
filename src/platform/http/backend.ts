import Fastify, { type FastifyInstance } from 'fastify'
import type { Db } from '../postgres/db.ts'
import { createMetrics, type MetricsOptions } from './metrics.ts'

/**
 * The server of the backend port, for machines of the same private network: no sign-in. `/ready` tells a load balancer whether to
 * send requests here: not while the service is stopping, and not without its database.
 */
export function createBackend(options: MetricsOptions): FastifyInstance {
  const { db, http } = options
  const metrics = createMetrics(options)
  const backend = Fastify({ forceCloseConnections: true })
  backend.get('/metrics', async (_request, reply) => {
    reply.type(metrics.contentType)
    return metrics.text()
  })
  backend.get('/ready', async (_request, reply) => {
    const ready = !http.traffic.stopping && (await answers(db))
    return reply.status(ready ? 200 : 503).send({ ready })
  })
  // For orchestrators: answers whether the process and its database work.
  backend.get('/healthz', async (_request, reply) => {
    const database = await answers(db)
    return reply.status(database ? 200 : 503).send({ status: database ? 'ok' : 'unavailable', database })
  })
  return backend
}

async function answers(db: Db): Promise<boolean> {
  return db.query('select 1').then(
    () => true,
    () => false,
  )
}

import type { Context } from './context.ts'
import { load, median } from './load.ts'
import { startProcess } from './process.ts'
import { atLeast, figureOnly, type Row } from './report.ts'

const connections = 16

/**
 * One object by id, compared with a bare server on the same database, in turns, so that both meet the same load of the
 * machine.
 */
export async function measureRead({ client, service, dsn, headers }: Context): Promise<Row[]> {
  const objects = await client.get<{ _system_object_id: number }[]>('/db/artwork/artwork/list', {
    limit: 1000,
    format: 'short',
  })
  const ids = objects.map((object) => object._system_object_id)
  const anyId = (): number => ids[Math.floor(Math.random() * ids.length)] ?? 0
  const { authorization = '' } = await headers()
  const bare = await startProcess('bench/baseline-server.ts', [], { BENCH_DSN: dsn })
  const ofService = (seconds: number) =>
    load({
      origin: service.url,
      connections,
      seconds,
      request: () => ({
        path: `/api/v1/db/artwork/artwork/system_object_id/${anyId()}?format=standard`,
        headers: { authorization },
      }),
    })
  const ofBare = (seconds: number) =>
    load({ origin: bare.url, connections, seconds, request: () => ({ path: `/one/${anyId()}` }) })
  try {
    await ofBare(2)
    await ofService(2)
    const rounds = []
    for (let round = 0; round < 5; round++) rounds.push({ bare: await ofBare(2), service: await ofService(2) })
    const shares = rounds.map((round) => (100 * round.service.perSecond) / round.bare.perSecond)
    return [
      atLeast('read one object, standard, 16 connections', 60, median(shares), '% of a bare server'),
      figureOnly('  the service', median(rounds.map((round) => round.service.perSecond)), '/s'),
      figureOnly('  the bare server', median(rounds.map((round) => round.bare.perSecond)), '/s'),
    ]
  } finally {
    await bare.stop()
  }
}

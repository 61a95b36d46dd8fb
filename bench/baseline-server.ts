/**
 * What reading an object is measured beside: a bare node:http server that answers one prepared select of a jsonb row
 * by primary key.
 */
import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.BENCH_DSN, max: 10 })

const server = createServer(async (request, response) => {
  const { rows } = await pool.query<{ content: unknown }>({
    name: 'row',
    text: 'select content from object_version where system_object_id = $1 and version = $2',
    values: [Number(request.url?.slice(1)), 1],
  })
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.end(JSON.stringify(rows))
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`ready at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('SIGTERM', () => process.exit(0))

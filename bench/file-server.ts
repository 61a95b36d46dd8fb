/** The server for comparison with downloads: plain `node:http` that sends one file (`BENCH_FILE`), a small one from memory. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'

const path = process.env.BENCH_FILE ?? ''
const { size } = await stat(path)
const small = size < 10_000_000 ? await readFile(path) : null
const server = createServer((_, response) => {
  response.setHeader('content-length', size)
  if (small) response.end(small)
  else pipeline(createReadStream(path), response).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`ready at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('SIGTERM', () => process.exit(0))

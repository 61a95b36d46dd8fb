import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { joinSmallChunks } from '../../../src/platform/http/body/join-chunks.ts'

/** The pieces of a body that a server gets. */
async function piecesOf(chunks: readonly Buffer[], joined: boolean): Promise<Buffer[]> {
  const server = createServer()
  const pieces: Buffer[] = []
  const ended = Promise.withResolvers<void>()
  if (joined) server.prependListener('request', joinSmallChunks)
  server.on('request', async (request: IncomingMessage) => {
    for await (const piece of request) pieces.push(piece as Buffer)
    ended.resolve()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n')
  const body = chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
  socket.write(Buffer.concat([...body, Buffer.from('0\r\n\r\n')]))
  await ended.promise
  socket.destroy()
  server.close()
  return pieces
}

const hashOf = (pieces: readonly Buffer[]): string => createHash('sha256').update(Buffer.concat(pieces)).digest('hex')

test('a body in chunks of single bytes arrives in few pieces', async () => {
  const chunks = Array.from({ length: 50_000 }, (_, index) => Buffer.from([index % 251]))
  assert.ok((await piecesOf(chunks, false)).length > 1000, 'Node joins none itself')
  const pieces = await piecesOf(chunks, true)
  assert.ok(pieces.length < 100, `${pieces.length} pieces`)
  assert.equal(hashOf(pieces), hashOf(chunks))
})

test('small chunks among large ones stay in their order', async () => {
  const sizes = [1, 5, 1023, 1024, 70_000, 1, 16_384, 2, 200_000, 1000, 1000, 1023, 3]
  const chunks = Array.from({ length: 20 }, () => sizes)
    .flat()
    .map((size, index) => Buffer.alloc(size, index))
  assert.equal(hashOf(await piecesOf(chunks, true)), hashOf(chunks))
})

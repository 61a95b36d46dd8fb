import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from './client.ts'

export interface ReceivedCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came: what a signature is about. */
  readonly raw: string
  readonly body: Json
}

export interface WebhookServer extends AsyncDisposable {
  readonly url: string
  readonly calls: ReceivedCall[]
  /** Breaks all connections: calls without an answer fail. */
  drop(): void
  /** The answer to the next calls; a text is a body of status 200. */
  answer: (call: ReceivedCall) => { status?: number; headers?: Record<string, string>; body?: string } | 'hang'
}

/** A receiver of webhooks that keeps what it was sent. */
export async function startWebhookServer(): Promise<WebhookServer> {
  const calls: ReceivedCall[] = []
  const state: Pick<WebhookServer, 'answer'> = { answer: () => ({ body: '{"ok":true}' }) }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const raw = Buffer.concat(chunks).toString('utf8')
    const call = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      raw,
      body: JSON.parse(raw),
    }
    calls.push(call)
    const answer = state.answer(call)
    if (answer === 'hang') return
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    drop: () => server.closeAllConnections(),
    get answer() {
      return state.answer
    },
    set answer(value) {
      state.answer = value
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

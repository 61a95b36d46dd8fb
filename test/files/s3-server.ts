import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'

/** What is wrong with the server, for one request: an error, no answer ever, or nothing is there. */
export type Fault = 'error' | 'hang' | 'lost' | 'cut'

/** A real S3 server in a process of its own would be no other: this one speaks HTTP on a port of its own. */
export interface S3Server extends AsyncDisposable {
  /** What a location needs to know of it. */
  readonly config: {
    bucket: string
    endpoint: string
    accesskey: string
    secretkey: string
    region: string
    ssl: boolean
  }
  /** For which regions requests were signed. */
  readonly regions: ReadonlySet<string>
  /** Asked of each request; null: it is answered. */
  fault: (request: { readonly method: string; readonly url: string }) => Fault | null
  /** Uploads in parts that were begun and neither ended nor given up. */
  unfinished(): Promise<string[]>
}

export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'strongroom-s3-'))
  const s3 = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'files', configs: [] }],
  })
  await s3.configureBuckets()
  const answer = s3.callback()
  const parts = join(directory, 'files', '._S3rver_uploads')
  const regions = new Set<string>()
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request
    const [, region] = /Credential=[^/]+\/\d+\/([^/]+)/.exec(request.headers.authorization ?? '') ?? []
    if (region) regions.add(region)
    const fault = it.fault({ method, url })
    if (fault) return fail(fault, request, response, answer)
    const unfinished = /^\/files\/?\?(?:[^&]*&)*uploads(?:[=&]|$)/.test(url)
    if (method === 'GET' && unfinished) return void listUnfinished(parts, response)
    const given = /[?&]uploadId=([\w-]+)/.exec(url)?.[1]
    if (method === 'DELETE' && given !== undefined) {
      return void rm(join(parts, given), { recursive: true, force: true }).then(() => response.writeHead(204).end())
    }
    void whole(request, response)
  })
  /** Objects that are being copied, and until when: a real store shows one or the other, never a part. */
  const copying = new Map<string, Promise<unknown>>()
  async function whole(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?', 1)[0] ?? ''
    const turn = copying.get(path) ?? Promise.resolve()
    if (request.headers['x-amz-copy-source'] !== undefined) {
      const ended = turn.then(() => new Promise((resolve) => void response.once('close', resolve)))
      copying.set(path, ended)
      void ended.then(() => copying.get(path) === ended && copying.delete(path))
    }
    await turn
    answer(request, response)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const it: S3Server = {
    config: {
      bucket: 'files',
      endpoint: `127.0.0.1:${port}`,
      accesskey: 'S3RVER',
      secretkey: 'S3RVER',
      region: 'us-east-1',
      ssl: false,
    },
    regions,
    fault: () => null,
    unfinished: () => readdir(parts).catch(() => []),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(directory, { recursive: true, force: true })
    },
  }
  return it
}

function fail(fault: Fault, request: IncomingMessage, response: ServerResponse, answer: RequestListener): void {
  if (fault === 'hang') return
  if (fault === 'cut') {
    // The beginning of the answer, then nothing more.
    const write = response.write.bind(response)
    response.write = ((chunk: Buffer) => {
      write(chunk.subarray(0, 100), () => response.destroy())
      return false
    }) as ServerResponse['write']
    answer(request, response)
    return
  }
  const [status, code] = fault === 'error' ? [500, 'InternalError'] : [404, 'NoSuchKey']
  request.resume()
  response.writeHead(status, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`)
}

/** What the package does not know: ListMultipartUploads. */
async function listUnfinished(parts: string, response: ServerResponse): Promise<void> {
  const uploads = await Promise.all(
    (await readdir(parts).catch(() => [])).map(async (id) => {
      const key = await readFile(join(parts, id, 'key'), 'utf8')
      const at = (await stat(join(parts, id, 'key'))).mtime.toISOString()
      return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`
    }),
  )
  const xml = `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`
  response.writeHead(200, { 'content-type': 'application/xml' }).end(xml)
}

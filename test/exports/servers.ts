/** Servers that results of exports are brought to, each with a folder of its own in memory or on disk. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { type FileHandle, mkdir, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer as createNet } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { text } from 'node:stream/consumers'
import { FtpSrv } from 'ftp-srv'
import { SMTPServer } from 'smtp-server'
import ssh2 from 'ssh2'

export interface Target extends AsyncDisposable {
  readonly port: number
  readonly folder: string
}

const folderFor = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `export-${name}-`))

/** A port that nobody has at the moment. */
async function freePort(): Promise<number> {
  const net = createNet()
  await new Promise<void>((resolve) => net.listen(0, '127.0.0.1', resolve))
  const { port } = net.address() as AddressInfo
  await new Promise((resolve) => net.close(resolve))
  return port
}

/** FTP for one user. */
export async function startFtp(user: string, password: string): Promise<Target> {
  const folder = await folderFor('ftp')
  const port = await freePort()
  const quiet = { child: () => quiet, trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} }
  const server = new FtpSrv({
    url: `ftp://127.0.0.1:${port}`,
    pasv_url: '127.0.0.1',
    pasv_min: 20_000 + (port % 20_000),
    anonymous: false,
    log: quiet as never,
  })
  server.on('login', ({ username, password: sent }, resolve, reject) => {
    if (username === user && sent === password) resolve({ root: folder })
    else reject(new Error('who are you?'))
  })
  await server.listen()
  return {
    port,
    folder,
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** SFTP for one user, as far as a client needs it that makes folders and writes files. */
export async function startSftp(user: string, password: string): Promise<Target & { readonly hostKey: string }> {
  const folder = await folderFor('sftp')
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const parsed = ssh2.utils.parseKey(privateKey)
  if (parsed instanceof Error) throw parsed
  const hostKey = `SHA256:${createHash('sha256').update(parsed.getPublicSSH()).digest('base64').replace(/=+$/, '')}`
  const { STATUS_CODE, OPEN_MODE } = ssh2.utils.sftp
  const place = (path: string): string => join(folder, normalize(join('/', path)))
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => {})
    client.on('authentication', (context) => {
      const known = context.method === 'password' && context.username === user && context.password === password
      if (known) context.accept()
      else context.reject(['password'])
    })
    client.on('session', (accept) => {
      accept().on('sftp', (acceptSftp) => {
        const sftp = acceptSftp()
        const handles = new Map<number, FileHandle>()
        let next = 0
        const done = (id: number, work: Promise<unknown>) =>
          work.then(
            () => sftp.status(id, STATUS_CODE.OK),
            () => sftp.status(id, STATUS_CODE.FAILURE),
          )
        sftp.on('REALPATH', (id, path) => {
          sftp.name(id, [{ filename: normalize(join('/', path)), longname: '', attrs: {} as never }])
        })
        const onStat = (id: number, path: string) =>
          stat(place(path)).then(
            ({ mode, size, uid, gid }) => sftp.attrs(id, { mode, size, uid, gid, atime: 0, mtime: 0 }),
            () => sftp.status(id, STATUS_CODE.NO_SUCH_FILE),
          )
        sftp.on('STAT', onStat)
        sftp.on('LSTAT', onStat)
        sftp.on('MKDIR', (id, path) => void done(id, mkdir(place(path))))
        sftp.on('OPEN', (id, path, flags) => {
          const mode = flags & OPEN_MODE.WRITE ? 'w' : 'r'
          open(place(path), mode).then(
            (file) => {
              handles.set(next, file)
              const handle = Buffer.alloc(4)
              handle.writeUInt32BE(next++)
              sftp.handle(id, handle)
            },
            () => sftp.status(id, STATUS_CODE.NO_SUCH_FILE),
          )
        })
        sftp.on('WRITE', (id, handle, offset, data) => {
          const file = handles.get(handle.readUInt32BE(0))
          void done(id, file ? file.write(data, 0, data.length, offset) : Promise.reject(new Error('no file')))
        })
        sftp.on('CLOSE', (id, handle) => {
          const file = handles.get(handle.readUInt32BE(0))
          void done(id, file ? file.close() : Promise.reject(new Error('no file')))
        })
        sftp.on('FSETSTAT', (id) => sftp.status(id, STATUS_CODE.OK))
        sftp.on('SETSTAT', (id) => sftp.status(id, STATUS_CODE.OK))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    folder,
    hostKey,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface WebTarget extends Target {
  /** What was sent: method, path, and who signed in. */
  readonly requests: {
    readonly method: string
    readonly path: string
    readonly user: string | null
    readonly type: string
  }[]
  /** Requests that are refused at first. */
  failures: number
}

/** Takes PUT, POST and MKCOL as WebDAV servers do: a file needs its folder (RFC 4918, 9.7.1). */
export async function startWeb(): Promise<WebTarget> {
  const folder = await folderFor('web')
  const requests: { method: string; path: string; user: string | null; type: string }[] = []
  const server = createHttp(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '/')
    const [, encoded] = (request.headers.authorization ?? '').split(' ')
    const user = encoded ? Buffer.from(encoded, 'base64').toString() : null
    requests.push({ method: request.method ?? '', path, user, type: request.headers['content-type'] ?? '' })
    if (it.failures > 0) {
      it.failures--
      await text(request)
      return response.writeHead(503).end('later')
    }
    const at = join(folder, normalize(join('/', path)))
    if (request.method === 'MKCOL') {
      const made = await mkdir(at).then(
        () => 201,
        (error: NodeJS.ErrnoException) => (error.code === 'EEXIST' ? 405 : 409),
      )
      return response.writeHead(made).end()
    }
    const isThere = await stat(dirname(at)).then(
      () => true,
      () => false,
    )
    if (!isThere) {
      await text(request)
      return response.writeHead(409).end()
    }
    const file = await open(at, 'w')
    for await (const piece of request) await file.write(piece as Buffer)
    await file.close()
    response.writeHead(201).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const it: WebTarget = {
    port: (server.address() as AddressInfo).port,
    folder,
    requests,
    failures: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
  return it
}

export interface MailTarget extends AsyncDisposable {
  readonly port: number
  readonly mails: { readonly to: readonly string[]; readonly data: string }[]
}

/** Takes every mail. */
export async function startSmtp(): Promise<MailTarget> {
  const mails: { to: readonly string[]; data: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      text(stream).then((data) => {
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), data })
        done()
      }, done)
    },
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(resolve))
    },
  }
}

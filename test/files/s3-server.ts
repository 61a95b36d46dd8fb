import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'

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
}

export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'strongroom-s3-'))
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'files', configs: [] }],
  })
  const { port } = await server.run()
  return {
    config: {
      bucket: 'files',
      endpoint: `127.0.0.1:${port}`,
      accesskey: 'S3RVER',
      secretkey: 'S3RVER',
      region: 'us-east-1',
      ssl: false,
    },
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

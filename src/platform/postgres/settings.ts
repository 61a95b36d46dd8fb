import { availableParallelism, totalmem } from 'node:os'

const MB = 1024 * 1024

export interface Machine {
  /** Bytes that this process may use: the container's limit where there is one. */
  memory: number
  cpus: number
  /** Bytes of the shared memory file system; null where there is none. */
  sharedMemory: number | null
  /** Bytes of the file system with the data, free or not. */
  disk: number
}

export function thisMachine({ sharedMemory, disk }: Pick<Machine, 'sharedMemory' | 'disk'>): Machine {
  const limit = process.constrainedMemory()
  const memory = limit > 0 && limit < totalmem() ? limit : totalmem()
  return { memory, cpus: availableParallelism(), sharedMemory, disk }
}

/**
 * Settings of the embedded server, sized for the machine. The service itself and the page cache live on the same machine, so shared
 * buffers take an eighth of the memory, and the planner assumes that about half of it caches files.
 */
export function postgresSettings(
  machine: Machine,
  { durable, connections }: { durable: boolean; connections: number },
): Record<string, string> {
  const megabytes = machine.memory / MB
  // Data written since the last checkpoint is stored twice. PostgreSQL begins a checkpoint in time to stay below.
  const wal = Math.min(2048, Math.max(64, machine.disk / MB / 20))
  return {
    listen_addresses: '',
    unix_socket_permissions: '0700',
    // Besides the service there are backups, and people who inspect the database.
    max_connections: String(Math.max(100, connections + 20)),
    shared_buffers: size(megabytes / 8, 64, 8192),
    effective_cache_size: size(megabytes / 2, 128, 65536),
    work_mem: size(megabytes / 512, 8, 64),
    maintenance_work_mem: size(megabytes / 32, 32, 1024),
    max_wal_size: size(wal, 64, 2048),
    min_wal_size: size(wal / 4, 32, 256),
    checkpoint_timeout: '15min',
    synchronous_commit: 'on',
    random_page_cost: '1.1',
    effective_io_concurrency: '64',
    jit: 'off',
    // Requests compete for the cores already; a second worker per query only helps when there are no other requests.
    max_parallel_workers_per_gather: machine.cpus > 4 ? '2' : '0',
    max_parallel_workers: String(Math.max(1, machine.cpus - 1)),
    // Containers often have 64 MB of shared memory, too little for parallel index builds.
    dynamic_shared_memory_type: machine.sharedMemory !== null && machine.sharedMemory < 256 * MB ? 'mmap' : 'posix',
    autovacuum_vacuum_scale_factor: '0.05',
    autovacuum_analyze_scale_factor: '0.02',
    timezone: 'UTC',
    log_timezone: 'UTC',
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgresql-%a.log',
    log_truncate_on_rotation: 'on',
    log_rotation_age: '1d',
    log_rotation_size: '0',
    log_line_prefix: '%m [%p] %a ',
    log_checkpoints: 'off',
    ...(durable ? {} : throwAway),
  }
}

/** For test runs only: their data need not survive a crash of the machine. */
const throwAway = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  shared_buffers: '256MB',
  max_connections: '300',
  autovacuum_naptime: '10min',
}

function size(megabytes: number, least: number, most: number): string {
  return `${Math.round(Math.min(most, Math.max(least, megabytes)))}MB`
}

/* How many processors the control group allows. */
#ifndef HEADWISE_QUOTA_H
#define HEADWISE_QUOTA_H

/* The smallest whole number of processors that the CPU quotas of a process's control group and its
 * ancestors allow (version 2's cpu.max, version 1's cpu.cfs_quota_us), at least 1; 0 for no limit
 * or where the files cannot be read.
 * membership is the text file that names the group (/proc/self/cgroup), root the folder where the
 * control groups are mounted (/sys/fs/cgroup): parameters for the tests. */
int headwise_quota_processors(const char *membership, const char *root);

#endif
